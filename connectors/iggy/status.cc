// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/status.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "connectors/iggy/connection.h"
#include "connectors/iggy/patience.h"
#include "connectors/iggy/topics.h"
#include "millrace/base/stop_signal.h"

namespace millrace::iggy_source {
namespace {

Result<std::vector<StreamStanding>> ask(iggy::Client& client, const IggySourceOptions& options, Topics& topics,
                                        SteadyTime until) {
  MILLRACE_TRY(client.connect(until));
  MILLRACE_TRY(topics.look(client));
  MILLRACE_ASSIGN(const std::vector<Partition> partitions, topics.listed());
  std::vector<StreamStanding> all;
  for (const Partition partition : partitions) {
    MILLRACE_ASSIGN(const std::optional<Watermark> stored, topics.stored(client, partition));
    all.push_back({options.topics[partition.topic], partition.number, text(options, partition), stored,
                   end_of(*topics.info(partition))});
  }
  return all;
}

}  // namespace

Result<std::string> status(const IggySourceOptions& options, const BuildContext& context, bool json) {
  // Somebody new, whatever `member` says: two connections with one id evict each other.
  MILLRACE_ASSIGN(const std::unique_ptr<iggy::Client> client,
                  iggy::Client::make(connection_of(options, context.clock, context.random, context.log)));
  Topics topics(options, context.log);
  const bool group = !options.consumer_group.empty();
  const SteadyTime until = context.clock->now() + options.connect_timeout;
  StopSignal never;
  for (;;) {
    auto all = ask(*client, options, topics, until);
    if (all) {
      return stream_status(group ? "group" : "consumer", group ? options.consumer_group : options.consumer, *all, json);
    }
    const SteadyTime now = context.clock->now();
    if (!all.error().is_retryable() || now >= until) return fail(std::move(all).error().as(ErrorClass::fatal));
    static_cast<void>(never.wait(*context.clock, std::min<Duration>(kPause, until - now)));
  }
}

}  // namespace millrace::iggy_source
