// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/partitions.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace::kafka {

std::string to_string(const Partition& partition) { return fmt::format("{}[{}]", partition.topic, partition.number); }

std::optional<PartitionId> PartitionNumbers::id_of(const Partition& partition) const {
  const auto found = std::ranges::find(topics_, partition.topic);
  if (found == topics_.end() || partition.number < 0) return std::nullopt;
  const auto number = static_cast<std::uint32_t>(partition.number);
  if (number >= kMostPartitions) return std::nullopt;
  return PartitionId(static_cast<std::uint32_t>(found - topics_.begin()) * kMostPartitions + number);
}

ListHandle to_list(const std::vector<Partition>& partitions) {
  ListHandle list = new_list(partitions.size());
  for (const Partition& one : partitions) rd_kafka_topic_partition_list_add(list.get(), one.topic.c_str(), one.number);
  return list;
}

std::vector<Partition> from_list(const rd_kafka_topic_partition_list_t* list) {
  std::vector<Partition> partitions;
  for (const auto& one : entries(list)) partitions.push_back({one.topic, one.partition});
  return partitions;
}

}  // namespace millrace::kafka
