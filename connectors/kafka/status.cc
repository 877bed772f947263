// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/status.h"

#include <utility>
#include <vector>

#include "connectors/kafka/options.h"
#include "connectors/kafka/questions.h"
#include "millrace/connectors/stream.h"

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
  std::vector<StreamStanding> all;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const Partition& partition = cluster.partitions[i];
    all.push_back({partition.topic, partition.number, to_string(partition), stored[i], cluster.ends.at(partition)});
  }
  return stream_status("group", options.group, all, json);
}

}  // namespace millrace::kafka
