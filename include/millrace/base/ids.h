// SPDX-License-Identifier: Apache-2.0
// Ids and positions as types of their own, so that "last" and "one past the last", a lane and a partition, cannot be
// mixed.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>

#pragma GCC visibility push(default)
namespace millrace {

/// A number with a meaning. Explicit to make, explicit to read.
template <class Tag, std::integral Rep>
class NamedNumber {
 public:
  using Representation = Rep;
  constexpr NamedNumber() noexcept = default;
  constexpr explicit NamedNumber(Rep value) noexcept : value_(value) {}
  [[nodiscard]] constexpr Rep value() const noexcept { return value_; }
  friend constexpr auto operator<=>(NamedNumber, NamedNumber) noexcept = default;

 private:
  Rep value_ = 0;
};

/// One pollable unit of a source. Unique within a source and an epoch.
using LaneId = NamedNumber<struct LaneIdTag, std::uint32_t>;
/// What positions are kept for. Belongs to exactly one lane at a time.
using PartitionId = NamedNumber<struct PartitionIdTag, std::uint32_t>;
/// One assignment of lanes, strictly increasing from 1. 0 belongs to no assignment.
using Epoch = NamedNumber<struct EpochTag, std::uint64_t>;
/// The place of a batch in its partition and epoch, from 0, without gaps.
using BatchSeq = NamedNumber<struct BatchSeqTag, std::uint64_t>;
/// The position of one record in its partition. Never negative, rises strictly.
using Offset = NamedNumber<struct OffsetTag, std::int64_t>;
/// A position to resume at: one past the last offset that is settled.
using Watermark = NamedNumber<struct WatermarkTag, std::int64_t>;

/// The watermark that has `last` and everything before it behind it.
/// Requires last < max(int64), so that the sum exists.
[[nodiscard]] constexpr Watermark one_past(Offset last) noexcept { return Watermark(last.value() + 1); }

/// A partition and where it resumes. What Source::commit receives.
struct PartitionWatermark {
  PartitionId partition;
  Watermark watermark;
  friend constexpr bool operator==(const PartitionWatermark&, const PartitionWatermark&) noexcept = default;
};

}  // namespace millrace
#pragma GCC visibility pop

template <class Tag, class Rep>
struct std::hash<millrace::NamedNumber<Tag, Rep>> {
  std::size_t operator()(millrace::NamedNumber<Tag, Rep> number) const noexcept {
    return std::hash<Rep>{}(number.value());
  }
};
