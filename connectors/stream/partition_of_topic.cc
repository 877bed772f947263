// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "millrace/connectors/stream.h"

namespace millrace {
namespace {

/// More characters are one here than in any encoding of names.
std::string blurred(std::string name) {
  std::ranges::replace_if(
      name,
      [](char c) { return !((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-'); },
      '_');
  return name;
}

}  // namespace

std::optional<PartitionId> partition_of_topic(std::span<const std::string> topics, std::size_t topic,
                                              std::uint32_t number) {
  if (topic == 0) return std::nullopt;
  std::set<std::string> names;
  for (const std::string& name : topics) names.insert(blurred(name));
  if (names.size() != topics.size()) return std::nullopt;
  return PartitionId(number);
}

}  // namespace millrace
