// SPDX-License-Identifier: Apache-2.0
// Partitions by their names, as the engine numbers them, and positions as the server keeps them. Values.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "millrace/base/ids.h"

namespace millrace::iggy_source {

/// A partition of one of the source's topics.
struct Partition {
  std::uint32_t topic = 0;  ///< its place in the list of topics
  std::uint32_t number = 0;
  friend auto operator<=>(const Partition&, const Partition&) = default;
};

/// So many partitions of a topic have a number of their own; a server allows 1000.
inline constexpr std::uint32_t kMostPartitions = 100'000;
inline constexpr std::size_t kMostTopics = 40'000;

/// Of the first topic, partitions keep their numbers; those of the topic behind it count from 100000, and so on. What
/// is shown is Origin::partition.
[[nodiscard]] constexpr PartitionId id_of(Partition partition) noexcept {
  return PartitionId(partition.topic * kMostPartitions + partition.number);
}
[[nodiscard]] constexpr Partition partition_of(PartitionId id) noexcept {
  return {id.value() / kMostPartitions, id.value() % kMostPartitions};
}

/// A server keeps the offset of the last message that was processed; the engine, one past it. There is no offset for
/// "nothing yet".
[[nodiscard]] constexpr std::optional<std::uint64_t> stored_offset(Watermark watermark) noexcept {
  if (watermark.value() <= 0) return std::nullopt;
  return static_cast<std::uint64_t>(watermark.value()) - 1;
}
[[nodiscard]] constexpr Watermark watermark_behind(std::uint64_t stored) noexcept {
  return Watermark(static_cast<std::int64_t>(stored) + 1);
}

}  // namespace millrace::iggy_source
