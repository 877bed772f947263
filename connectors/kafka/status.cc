// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "connectors/kafka/options.h"
#include "connectors/kafka/questions.h"
#include "millrace/base/json_string.h"

namespace millrace::kafka {

Result<std::string> status(const KafkaSourceOptions& options, const BuildContext& context, bool json) {
  KafkaSourceOptions with_ends = options;
  with_ends.bounded = true;
  MILLRACE_ASSIGN(ConfHandle conf, source_conf(options, context.pipeline));
  MILLRACE_ASSIGN(auto client, Client::make(RD_KAFKA_CONSUMER, std::move(conf), context.log, nullptr));
  const Asking asking{std::move(client), &with_ends, context.clock, context.random, context.log, true};
  StopSignal never;
  MILLRACE_ASSIGN(const Cluster cluster, ask_cluster(asking, never));
  const SteadyTime until = context.clock->now() + options.connect_timeout;
  MILLRACE_ASSIGN(const auto stored, ask_stored(asking, cluster.partitions, until, never));
  std::string lines;
  std::int64_t behind = 0;
  std::size_t unknown = 0;  // of these it is not known where a run would begin
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const Partition& partition = cluster.partitions[i];
    const std::int64_t end = cluster.ends.at(partition).value();
    const std::string at = stored[i] ? std::to_string(stored[i]->value()) : json ? "null" : "nothing";
    if (stored[i]) behind += std::max<std::int64_t>(end - stored[i]->value(), 0);
    unknown += stored[i] ? 0 : 1;
    if (json) {
      lines += fmt::format(R"({}{{"topic":"{}","partition":{},"stored":{},"end":{}}})", i == 0 ? "" : ",",
                           partition.topic, partition.number, at, end);
    } else {
      lines += fmt::format("  {}: {} is stored, the end is {}\n", to_string(partition), at, end);
    }
  }
  if (!json) {
    const std::string more =
        unknown == 0 ? "" : fmt::format(", and nothing is stored in {} of {} partitions", unknown, stored.size());
    return fmt::format("group '{}': {} records behind{}\n{}", options.group, behind, more, lines);
  }
  ByteBuffer group;
  append_json_string(group, options.group);
  return fmt::format(R"({{"group":{},"behind":{},"partitions":[{}]}})", group.view(),
                     unknown == 0 ? std::to_string(behind) : "null", lines) +
         "\n";
}

}  // namespace millrace::kafka
