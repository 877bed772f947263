// SPDX-License-Identifier: Apache-2.0
// How a lane's i64 offset names a record: 23 bits of object ordinal within the lane, 40 bits of record index within the
// object, sign clear, so that integer order is (ordinal, index) order. The all-ones index is reserved: a watermark that
// carries it says "this object is complete". Pure.
#pragma once

#include <cstdint>

#include "millrace/base/ids.h"
#include "millrace/base/result.h"

namespace millrace::s3_source {

inline constexpr int kIndexBits = 40;
inline constexpr std::uint64_t kIndexMask = (std::uint64_t{1} << kIndexBits) - 1;
/// Ordinals of a lane lie below this.
inline constexpr std::uint64_t kMaxObjectsPerLane = std::uint64_t{1} << 23U;
/// The index of a watermark behind which the whole object lies.
inline constexpr std::uint64_t kObjectComplete = kIndexMask;
/// Record indexes lie below this, so that one past the last record is never mistaken for the end of the object.
inline constexpr std::uint64_t kMaxRecordsPerObject = kObjectComplete - 1;

/// Where a lane resumes: `index` committed records of the object at `ordinal`, or all of it.
struct Position {
  std::uint64_t ordinal = 0;
  std::uint64_t index = 0;
  [[nodiscard]] bool object_complete() const noexcept { return index == kObjectComplete; }
  friend bool operator==(const Position&, const Position&) = default;
};

/// The offset of record `index` of the object at `ordinal`. Refuses (limit) what would not fit.
[[nodiscard]] Result<Offset> record_offset(std::uint64_t ordinal, std::uint64_t index);

/// The last offset of a batch that ends its object: one past it is the object's complete position. The largest is
/// max(int64) - 1. Requires ordinal < kMaxObjectsPerLane.
[[nodiscard]] constexpr Offset completion_offset(std::uint64_t ordinal) noexcept {
  return Offset(static_cast<std::int64_t>((ordinal << kIndexBits) | (kObjectComplete - 1)));
}

/// What a watermark says; the exact inverse of "one past the last offset". Fails (drift) on a negative one.
[[nodiscard]] Result<Position> position_of(Watermark watermark);

/// Requires fields in range.
[[nodiscard]] constexpr Watermark watermark_of(Position position) noexcept {
  return Watermark(static_cast<std::int64_t>((position.ordinal << kIndexBits) | position.index));
}

}  // namespace millrace::s3_source
