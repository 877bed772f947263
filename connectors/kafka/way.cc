// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/way.h"

#include <fmt/format.h>

#include <string>

#include "millrace/base/bounded.h"
#include "millrace/base/figures.h"
#include "millrace/base/printable.h"

namespace millrace::kafka {

SourceWay way_of(const KafkaSourceOptions& options) {
  SourceWay way;
  if (!options.partitions.empty()) way.lanes = bounded_product(options.partitions.size(), options.topics.size());
  const std::uint64_t lanes = way.lanes.value_or(0);
  const std::string group = printable(options.group);
  way.rows = {
      {.stage = DataStage::get,
       .here = fmt::format("kafka source {}, {} {}", printable(fmt::format("{}", fmt::join(options.brokers, ", "))),
                           options.topics.size() == 1 ? "topic" : "topics", fmt::join(options.topics, ", ")),
       .thread = "librdkafka's",
       .threads = 0},
      {.stage = DataStage::source,
       .here = way.lanes ? fmt::format("a lane for each of partitions {} of each topic (partitions)",
                                       fmt::join(options.partitions, ", "))
                         : fmt::format("as many lanes as partitions that the group '{}' gives", group),
       .thread = "lane",
       .threads = lanes},
      {.stage = DataStage::commit,
       .here = fmt::format("positions of the group '{}', kept by the brokers", group),
       .thread = "control",
       .threads = 1},
  };
  const std::uint64_t fetched = options.prefetch_bytes.bytes;
  way.memory.push_back({"fetched", way.lanes ? bounded_product(lanes, fetched) : fetched,
                        fmt::format("{} x prefetch_bytes ({}); the fetch that fills it may go beyond",
                                    way.lanes ? of_these(lanes, "lane") : "lanes", bytes_text(fetched)),
                        DataStage::get, way.lanes ? MemoryPart::Each::run : MemoryPart::Each::lane});
  return way;
}

}  // namespace millrace::kafka
