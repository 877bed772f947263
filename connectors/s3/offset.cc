// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/offset.h"

#include <fmt/format.h>

namespace millrace::s3_source {

Result<Offset> record_offset(std::uint64_t ordinal, std::uint64_t index) {
  if (ordinal >= kMaxObjectsPerLane) {
    return fail(Error::fatal(ErrorCode::limit,
                             fmt::format("a lane holds at most {} objects and this would be number {}: raise lanes",
                                         kMaxObjectsPerLane, ordinal + 1)));
  }
  if (index >= kMaxRecordsPerObject) {
    return fail(Error::fatal(ErrorCode::limit,
                             fmt::format("an object holds at most {} records: split it", kMaxRecordsPerObject)));
  }
  return Offset(static_cast<std::int64_t>((ordinal << kIndexBits) | index));
}

Result<Position> position_of(Watermark watermark) {
  if (watermark.value() < 0) {
    return fail(Error::fatal(ErrorCode::drift, fmt::format("a watermark cannot be negative: {}", watermark.value())));
  }
  const auto bits = static_cast<std::uint64_t>(watermark.value());
  return Position{.ordinal = bits >> kIndexBits, .index = bits & kIndexMask};
}

}  // namespace millrace::s3_source
