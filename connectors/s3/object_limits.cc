// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/object_limits.h"

#include <fmt/format.h>

#include "millrace/base/printable.h"

namespace millrace::s3_source {

Result<bool> ObjectLimits::accept(const ObjectInfo& object) const {
  if (min_size && object.size < *min_size) return false;
  if (max_size && object.size > *max_size) return false;
  if (!modified_after && !modified_before) return true;
  if (object.last_modified == kNoTimestamp) {
    return fail(Error::fatal(ErrorCode::bad_response,
                             fmt::format("the store gives no time of change for '{}', so modified_after and "
                                         "modified_before cannot be held against it",
                                         printable(object.key))));
  }
  return !(modified_after && object.last_modified < *modified_after) &&
         !(modified_before && object.last_modified >= *modified_before);
}

}  // namespace millrace::s3_source
