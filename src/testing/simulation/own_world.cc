// SPDX-License-Identifier: Apache-2.0
#include "testing/simulation/own_world.h"

#include <fmt/format.h>

#include <utility>

#include "millrace/testing/capture_sink.h"

namespace millrace::testing {

OwnTopic::OwnTopic(SeededRandom& shape) {
  const auto partitions = static_cast<std::uint32_t>(1 + shape.below(3));
  topic_ = std::make_shared<MemoryTopic>(partitions);
  for (const PartitionId partition : topic_->partitions()) {
    const std::uint64_t count = shape.below(25);
    for (std::uint64_t i = 0; i < count; ++i) {
      records_.push_back(fmt::format("partition {} record {}", partition.value(), i));
      topic_->append(partition, records_.back());
    }
  }
  topic_->end();
}

Result<std::unique_ptr<Source>> OwnTopic::source(SimulatedRun& run, SeededRandom& random) {
  MemorySourceOptions options;
  options.wakers = random.below(2) == 0;
  script_ = options.script;
  random_ = &random;
  run.holds_finished = true;
  return MemorySource::make(topic_, options);
}

void OwnTopic::rebalance() {
  const std::vector<PartitionId> all = topic_->partitions();
  const auto lanes_of = [](std::span<const PartitionId> partitions) {
    std::vector<LaneId> lanes;
    for (const PartitionId partition : partitions) lanes.emplace_back(partition.value());
    return lanes;
  };
  switch (random_->below(4)) {
    case 0:
      script_->then(MemoryScript::revoke(lanes_of(all)));
      break;
    case 1:
      script_->then(MemoryScript::revoke_inside(lanes_of(all)));
      break;
    case 2: {  // some stay away for a while
      const std::vector<PartitionId> some(all.begin(), all.begin() + static_cast<std::ptrdiff_t>((all.size() + 1) / 2));
      script_->then(MemoryScript::revoke(lanes_of(all)));
      script_->then(MemoryScript::assign(some));
      script_->then(MemoryScript::revoke(lanes_of(some)));
      break;
    }
    default:
      break;  // without a revocation: a rule that a source breaks, and that loses nothing
  }
  script_->then(MemoryScript::assign(all));
}

void own_sink(SeededRandom& shape, Simulation& simulation) {
  auto capture = std::make_shared<Capture>();
  CaptureSinkOptions options;
  options.traits.concurrency = 1 + shape.below(3);
  options.traits.ordered = shape.below(3) != 0;
  options.policy.max_records = 1 + shape.below(6);
  options.policy.max_age = std::chrono::milliseconds(shape.below(3) * 700);
  options.retry.backoff = {std::chrono::milliseconds(100), std::chrono::seconds(2), 2.0};
  simulation.sink = [capture, options] { return CaptureSink::make(capture, options); };
  simulation.durable = [capture] { return capture->lines(); };
}

}  // namespace millrace::testing
