// SPDX-License-Identifier: Apache-2.0
#include "millrace/testing/memory_source.h"

#include <algorithm>
#include <utility>

#include "testing/pipeline/lent_bytes.h"

namespace millrace::testing {
namespace {

class MemoryLane final : public SourceLane {
 public:
  struct Options {
    LaneId lane;
    PartitionId partition;
    std::shared_ptr<MemoryTopic> topic;
    AckIssuer acks;
    Clock* clock;
    bool takes_waker;
    std::size_t batch_records;
    std::string stream;
  };
  explicit MemoryLane(Options options)
      : options_(std::move(options)), next_(options_.topic->position(options_.partition)) {
    auto origin = std::make_shared<Origin>();
    origin->stream = options_.stream;
    origin->topic = "memory";
    origin_ = std::move(origin);
  }

  LaneId id() const override { return options_.lane; }
  PartitionId partition() const override { return options_.partition; }

  bool set_waker(Waker waker) override {
    if (options_.takes_waker) options_.topic->wake_on_append(options_.partition, std::move(waker));
    return options_.takes_waker;
  }

  Result<PollResult> poll(std::size_t max_records, Duration timeout) override {
    lent_.take_back();
    const std::size_t most = options_.batch_records == 0 ? max_records : std::min(max_records, options_.batch_records);
    const SteadyTime deadline = timeout > Duration::zero() ? options_.clock->now() + timeout : SteadyTime();
    const MemoryTopic::Read read = options_.topic->read(options_.partition, next_, most, *options_.clock, deadline);
    if (read.ended) return Exhausted{};
    if (read.payloads.empty()) return Idle{};
    PayloadBatch batch;
    batch.payloads = lent_.lend(read.payloads);
    batch.partition = options_.partition;
    batch.base_offset = next_;
    batch.origin = origin_;
    next_ = Offset(next_.value() + static_cast<std::int64_t>(read.payloads.size()));
    batch.ack = options_.acks.issue(options_.partition, Offset(next_.value() - 1));
    return batch;
  }

 private:
  Options options_;
  Offset next_;
  LentBytes lent_;
  std::shared_ptr<const Origin> origin_;
};

std::vector<PartitionWatermark> copy(std::span<const PartitionWatermark> watermarks) {
  return {watermarks.begin(), watermarks.end()};
}

}  // namespace

void MemoryScript::then(Step step) {
  const MutexLock lock(mutex_);
  steps_.push_back(std::move(step));
  control_.wake();
}

MemoryScript::Step MemoryScript::assign(std::vector<PartitionId> partitions) {
  return [partitions = std::move(partitions)](MemorySource& source) -> Result<SourceEvent> {
    LanesAssigned assigned;
    for (const PartitionId partition : partitions) {
      assigned.lanes.push_back(source.make_lane(LaneId(partition.value()), partition));
    }
    return assigned;
  };
}

MemoryScript::Step MemoryScript::revoke(std::vector<LaneId> lanes) {
  return [lanes = std::move(lanes)](MemorySource&) -> Result<SourceEvent> { return LanesRevoked{lanes, nullptr}; };
}

MemoryScript::Step MemoryScript::revoke_inside(std::vector<LaneId> lanes) {
  return [lanes = std::move(lanes)](MemorySource& source) -> Result<SourceEvent> {
    auto barrier = source.context().begin_revocation(lanes);
    const std::vector<PartitionWatermark> final = barrier->wait();
    MILLRACE_TRY(source.topic().commit(final));
    source.script().note([&](Seen& seen) { seen.barrier = final; });
    return LanesRevoked{lanes, std::move(barrier)};
  };
}

MemoryScript::Seen MemoryScript::seen() const {
  const MutexLock lock(mutex_);
  return seen_;
}

bool MemoryScript::wait_until(const std::function<bool(const Seen&)>& condition) const {
  const SteadyTime deadline = Clock::real().now() + std::chrono::minutes(1);
  const MutexLock lock(mutex_);
  while (!condition(seen_)) {
    if (Clock::real().now() >= deadline) return false;
    Clock::real().wait_until(changed_, mutex_, deadline);
  }
  return true;
}

std::optional<MemoryScript::Step> MemoryScript::next() {
  const MutexLock lock(mutex_);
  if (steps_.empty()) return std::nullopt;
  Step step = std::move(steps_.front());
  steps_.pop_front();
  return step;
}

void MemoryScript::note(const std::function<void(Seen&)>& change) {
  const MutexLock lock(mutex_);
  change(seen_);
  changed_.notify_all();
}

MemorySource::MemorySource(std::shared_ptr<MemoryTopic> topic, MemorySourceOptions options)
    : topic_(std::move(topic)), options_(std::move(options)) {}

std::unique_ptr<SourceLane> MemorySource::make_lane(LaneId lane, PartitionId partition) {
  return std::make_unique<MemoryLane>(MemoryLane::Options{lane, partition, topic_, context_.acks, context_.clock,
                                                          options_.wakers, options_.batch_records, context_.pipeline});
}

Result<void> MemorySource::open(SourceContext context) {
  context_ = std::move(context);
  {
    const MutexLock lock(script().mutex_);
    script().control_ = context_.control;
  }
  script().note([](MemoryScript::Seen& seen) { seen.opened = true; });
  return {};
}

Result<SourceEvent> MemorySource::poll_events(Duration /*timeout*/) {
  script().note([](MemoryScript::Seen& seen) { ++seen.event_polls; });
  if (options_.assign_all && !assigned_) {
    assigned_ = true;
    return MemoryScript::assign(topic_->partitions())(*this);
  }
  if (const auto step = script().next()) return (*step)(*this);
  if (options_.bounded) return Finished{};
  return Idle{};
}

Result<void> MemorySource::commit(std::span<const PartitionWatermark> watermarks) {
  return topic_->commit(copy(watermarks));
}

void MemorySource::pause(std::span<const LaneId> lanes) {
  script().note([&](MemoryScript::Seen& seen) { seen.paused.insert(seen.paused.end(), lanes.begin(), lanes.end()); });
}

void MemorySource::resume(std::span<const LaneId> lanes) {
  script().note([&](MemoryScript::Seen& seen) { seen.resumed.insert(seen.resumed.end(), lanes.begin(), lanes.end()); });
}

void MemorySource::revoked(std::span<const LaneId> lanes) {
  script().note([&](MemoryScript::Seen& seen) { seen.revoked.insert(seen.revoked.end(), lanes.begin(), lanes.end()); });
}

void MemorySource::close() {
  script().note([](MemoryScript::Seen& seen) { seen.closed = true; });
}

}  // namespace millrace::testing
