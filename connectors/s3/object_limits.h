// SPDX-License-Identifier: Apache-2.0
// ObjectLimits: which listed objects are read by what the listing says of them beside the key: stored size and time of
// change. Part of the source's identity. A value.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

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

/// A date-time of RFC 3339 with its offset, to a microsecond: "2026-07-01T12:00:00Z", "2026-07-01T14:00:00.5+02:00".
/// Fails (config) with what is expected.
[[nodiscard]] Result<UnixMicros> parse_rfc3339(std::string_view text);

}  // namespace millrace::s3_source
