// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/way.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "connectors/iggy/options.h"
#include "millrace/base/bounded.h"
#include "millrace/base/figures.h"
#include "millrace/base/printable.h"

namespace millrace::iggy_source {

SourceWay way_of(const IggySourceOptions& options) {
  SourceWay way;
  const std::vector<std::uint32_t> listed = listed_partitions(options);
  if (!listed.empty()) way.lanes = bounded_product(listed.size(), options.topics.size());
  const std::uint64_t lanes = way.lanes.value_or(0);
  const bool grouped = !options.consumer_group.empty();
  const std::string whose = fmt::format("{} '{}'", grouped ? "group" : "consumer",
                                        printable(grouped ? options.consumer_group : options.consumer));
  std::string dealt = "as many lanes as partitions of the topics";
  if (way.lanes)
    dealt = fmt::format("a lane for each of partitions {} of each topic (partitions)", fmt::join(listed, ", "));
  if (grouped) dealt = fmt::format("as many lanes as partitions that the {} gives", whose);
  way.rows = {
      {.stage = DataStage::get,
       .here = fmt::format("iggy source {}, stream {}, {} {}; {} messages a request (batch_length)",
                           printable(options.address), printable(options.stream),
                           options.topics.size() == 1 ? "topic" : "topics",
                           printable(fmt::format("{}", fmt::join(options.topics, ", "))), options.batch_length),
       .thread = "fetch I/O",
       .threads = options.connections},
      {.stage = DataStage::source, .here = std::move(dealt), .thread = "lane", .threads = lanes},
      {.stage = DataStage::commit,
       .here = fmt::format("offsets of the {}, kept by the server", whose),
       .thread = "desk I/O",
       .threads = 1},
  };
  // As LaneFeed has it: what waits and a buffer for more of it, the reply that goes beyond and the one that is read.
  const std::uint64_t fetched =
      bounded_product(2, bounded_sum(options.prefetch_bytes.bytes, options.max_reply_bytes.bytes));
  way.memory.push_back(
      {"fetched", way.lanes ? bounded_product(lanes, fetched) : fetched,
       fmt::format("{} x twice prefetch_bytes ({}), and two replies (max_reply_bytes, {})",
                   way.lanes ? of_these(lanes, "lane") : "lanes", bytes_text(options.prefetch_bytes.bytes),
                   bytes_text(options.max_reply_bytes.bytes)),
       DataStage::get, way.lanes ? MemoryPart::Each::run : MemoryPart::Each::lane});
  way.memory.push_back({"replies", bounded_product(options.connections, options.max_reply_bytes.bytes),
                        fmt::format("{} (connections) x the reply that comes (max_reply_bytes)",
                                    of_these(options.connections, "connection")),
                        DataStage::get});
  way.longest_record = options.max_reply_bytes.bytes;
  way.record_option = "max_reply_bytes";
  return way;
}

}  // namespace millrace::iggy_source
