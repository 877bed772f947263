// SPDX-License-Identifier: Apache-2.0
// ObjectLimits: which listed objects are read by what the listing says of them beside the key: stored size and time of
// change. Part of the source's identity. A value.
#pragma once

#include <cstdint>
#include <optional>

#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_source {

struct ObjectLimits {
  std::optional<std::uint64_t> min_size;  ///< of the stored bytes
  std::optional<std::uint64_t> max_size;
  std::optional<UnixMicros> modified_after;   ///< this instant, or later
  std::optional<UnixMicros> modified_before;  ///< earlier than this

  /// Fails (bad_response) on an object without a time where one decides.
  [[nodiscard]] Result<bool> accept(const ObjectInfo& object) const;
};

}  // namespace millrace::s3_source
