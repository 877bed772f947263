// SPDX-License-Identifier: Apache-2.0
// Partitions by their names, and as the engine numbers them. Values.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "connectors/kafka/handles.h"
#include "millrace/base/ids.h"

namespace millrace::kafka {

struct Partition {
  std::string topic;
  std::int32_t number = 0;
  friend auto operator<=>(const Partition&, const Partition&) = default;
};
/// "orders[3]"
[[nodiscard]] std::string to_string(const Partition& partition);

/// So many partitions of a topic have a number of their own.
inline constexpr std::uint32_t kMostPartitions = 100'000;
/// So many topics one source reads.
inline constexpr std::size_t kMostTopics = 40'000;

/// Of the first topic, partitions keep their numbers; those of the topic behind it count from 100000, and so on. What
/// is shown is Origin::partition.
class PartitionNumbers {
 public:
  explicit PartitionNumbers(std::vector<std::string> topics) : topics_(std::move(topics)) {}
  /// Nothing for a topic that is not one of these, or a number beyond kMostPartitions.
  [[nodiscard]] std::optional<PartitionId> id_of(const Partition& partition) const;
  /// The place of its topic in the list.
  [[nodiscard]] static std::size_t topic_of(PartitionId id) { return id.value() / kMostPartitions; }

 private:
  std::vector<std::string> topics_;
};

/// The entries of a list, which may be null.
[[nodiscard]] inline std::span<rd_kafka_topic_partition_t> entries(const rd_kafka_topic_partition_list_t* list) {
  if (list == nullptr) return {};
  return {list->elems, static_cast<std::size_t>(list->cnt)};
}
[[nodiscard]] ListHandle to_list(const std::vector<Partition>& partitions);
[[nodiscard]] std::vector<Partition> from_list(const rd_kafka_topic_partition_list_t* list);

}  // namespace millrace::kafka
