// SPDX-License-Identifier: Apache-2.0
#include "testing/conformance/wrong_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace millrace::conformance {
namespace {

using testing::MemoryTopic;

// Longer than the tests call prompt.
constexpr Duration kBlocks = std::chrono::milliseconds(150);

void wait_for(Duration time) {
  Mutex mutex;
  CondVar never;
  const MutexLock lock(mutex);
  const SteadyTime until = Clock::real().now() + time;
  while (Clock::real().now() < until) Clock::real().wait_until(never, mutex, until);
}

/// What the lanes of one instance share with it.
struct Shared {
  std::shared_ptr<WrongWorld> world;
  AckIssuer acks;
  int instance = 0;
  std::string memory;           // of lends_shared_memory
  std::vector<AckRef> hoarded;  // of keeps_an_ack
  std::map<PartitionId, Offset> read;
  std::vector<LaneId> paused;
  int assignments = 0;
};

class WrongLane final : public SourceLane {
 public:
  WrongLane(std::shared_ptr<Shared> shared, LaneId id, PartitionId partition, Offset next)
      : shared_(std::move(shared)), id_(id), partition_(partition), next_(next) {
    if (is(WrongSource::issues_before_the_epoch) && shared_->assignments > 1) early_ = issue(next_);
  }
  LaneId id() const override { return id_; }
  PartitionId partition() const override { return partition_; }

  bool set_waker(Waker waker) override {
    if (!is(WrongSource::wakes_nobody)) topic().wake_on_append(partition_, std::move(waker));
    return true;
  }

  Result<PollResult> poll(std::size_t max_records, Duration timeout) override {
    if (shared_->world->gone) {
      if (is(WrongSource::ends_at_a_failure)) return Exhausted{};
      return fail(Error::fatal(ErrorCode::io, "what is read is gone"));
    }
    if (is(WrongSource::forgets_at_a_pause) && std::erase(shared_->paused, id_) != 0) next_ = after(next_);
    if (is(WrongSource::gives_too_many)) ++max_records;
    const bool waits = timeout > Duration::zero() && !is(WrongSource::spins);
    const SteadyTime deadline = waits ? Clock::real().now() + timeout : SteadyTime();
    const MemoryTopic::Read read = topic().read(partition_, next_, max_records, Clock::real(), deadline);
    const auto end = static_cast<std::int64_t>(topic().size(partition_));
    if (read.ended || (shared_->world->ends && is(WrongSource::loses_last_record) && next_.value() + 1 >= end)) {
      return Exhausted{};
    }
    if (read.payloads.empty()) return Idle{};
    lend(read.payloads);
    PayloadBatch batch;
    batch.payloads = views_;
    batch.partition = partition_;
    batch.base_offset = next_;
    turn_around(batch);
    next_ = Offset(next_.value() + static_cast<std::int64_t>(read.payloads.size()));
    batch.ack = early_ ? *std::exchange(early_, std::nullopt) : issue(Offset(next_.value() - 1));
    shared_->read[partition_] = next_;
    if (is(WrongSource::keeps_an_ack) && shared_->hoarded.empty()) shared_->hoarded.push_back(batch.ack);
    if (is(WrongSource::commits_what_is_read) && batch.base_offset == Offset(0)) {
      MILLRACE_TRY(topic().commit({{partition_, Watermark(next_.value())}}));
    }
    return batch;
  }

 private:
  [[nodiscard]] bool is(WrongSource wrong) const { return shared_->world->wrong == wrong; }
  [[nodiscard]] MemoryTopic& topic() const { return *shared_->world->topic; }
  static Offset after(Offset offset) { return Offset(offset.value() + 1); }
  AckRef issue(Offset last) {
    return shared_->acks.issue(partition_, is(WrongSource::acks_one_too_far) ? after(last) : last);
  }
  void lend(const std::vector<std::string>& payloads) {
    held_ = payloads;
    views_.clear();
    for (std::string& payload : held_) {
      if (is(WrongSource::tells_runs_apart)) payload += fmt::format(" in run {}", shared_->instance);
      views_.emplace_back(payload);
    }
    if (!is(WrongSource::lends_shared_memory)) return;
    // The last payload lies in memory of all lanes, as long as the longest.
    shared_->memory.resize(64);
    std::ranges::copy(held_.back(), shared_->memory.begin());
    views_.back() = std::string_view(shared_->memory).substr(0, held_.back().size());
  }
  void turn_around(PayloadBatch& batch) {
    if (!is(WrongSource::offsets_go_back)) return;
    offsets_.clear();
    for (std::size_t i = 0; i < views_.size(); ++i) offsets_.push_back(batch.offset(i));
    std::ranges::reverse(offsets_);
    std::ranges::reverse(views_);
    batch.offsets = offsets_;
  }

  const std::shared_ptr<Shared> shared_;
  const LaneId id_;
  const PartitionId partition_;
  Offset next_;
  std::optional<AckRef> early_;
  std::vector<std::string> held_;
  std::vector<std::string_view> views_;
  std::vector<Offset> offsets_;
};

class SourceWithAFault final : public Source {
 public:
  explicit SourceWithAFault(std::shared_ptr<WrongWorld> world) : world_(std::move(world)) {
    shared_->world = world_;
    shared_->instance = ++world_->instances;
  }
  Result<void> open(SourceContext context) override {
    context_ = std::move(context);
    shared_->acks = context_.acks;
    opened_ = true;
    return {};
  }
  bool bounded() const override { return world_->ends; }
  bool keeps_account() const override { return is(WrongSource::answers_change_at_open) && opened_; }
  std::string replay_gap() const override { return {}; }

  Result<SourceEvent> poll_events(Duration /*timeout*/) override {
    if (is(WrongSource::blocks_for_events) && assigned_) wait_for(kBlocks);
    if (is(WrongSource::lends_shared_memory)) std::ranges::fill(shared_->memory, '-');
    const std::vector<PartitionId> all = world_->topic->partitions();
    if (!assigned_) {
      assigned_ = true;
      return assign(is(WrongSource::assigns_a_delta) ? std::span(all).first(1) : std::span(all));
    }
    if (is(WrongSource::assigns_a_delta) && !std::exchange(second_, true)) return assign(std::span(all).subspan(1));
    if (std::exchange(world_->rebalances, false)) return revoke(all);
    if (std::exchange(revoked_, false)) return assign(all);
    if (world_->ends && !is(WrongSource::never_finishes)) return Finished{};
    return Idle{};
  }

  Result<void> commit(std::span<const PartitionWatermark> watermarks) override {
    std::vector<PartitionWatermark> moved(watermarks.begin(), watermarks.end());
    if (is(WrongSource::keeps_last_instead_of_next)) {
      for (PartitionWatermark& one : moved) one.watermark = Watermark(one.watermark.value() - 1);
    }
    Result<void> done = world_->topic->commit(std::move(moved));
    if (is(WrongSource::swallows_a_failed_commit)) return {};
    return done;
  }
  void pause(std::span<const LaneId> lanes) override { shared_->paused.assign(lanes.begin(), lanes.end()); }

 private:
  [[nodiscard]] bool is(WrongSource wrong) const { return world_->wrong == wrong; }

  SourceEvent assign(std::span<const PartitionId> partitions) {
    LanesAssigned assigned;
    ++shared_->assignments;
    for (const PartitionId partition : partitions) {
      Offset from = world_->topic->position(partition);
      if (is(WrongSource::begins_anew) && shared_->instance > 1) from = Offset(0);
      if (is(WrongSource::goes_on_where_it_read) && shared_->read.contains(partition)) from = shared_->read[partition];
      const LaneId id(is(WrongSource::hands_a_lane_out_twice) ? 0 : partition.value());
      assigned.lanes.push_back(std::make_unique<WrongLane>(shared_, id, partition, from));
    }
    return assigned;
  }
  Result<SourceEvent> revoke(const std::vector<PartitionId>& partitions) {
    std::vector<LaneId> lanes;
    for (const PartitionId partition : partitions) lanes.emplace_back(partition.value());
    auto barrier = context_.begin_revocation(lanes);
    if (is(WrongSource::commits_before_the_barrier)) {
      MILLRACE_TRY(world_->topic->commit({{PartitionId(0), Watermark(1)}}));
    }
    MILLRACE_TRY(world_->topic->commit(barrier->wait()));
    revoked_ = true;
    return LanesRevoked{lanes, std::move(barrier)};
  }

  const std::shared_ptr<WrongWorld> world_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  SourceContext context_;
  bool opened_ = false;
  bool assigned_ = false;
  bool second_ = false;
  bool revoked_ = false;
};

}  // namespace

SourceUnderTest wrong_source(WrongSource wrong, bool ends) {
  auto world = std::make_shared<WrongWorld>();
  world->topic = std::make_shared<MemoryTopic>(2);
  world->wrong = wrong;
  world->ends = ends;
  for (int i = 0; i < 5; ++i) {
    for (const PartitionId partition : world->topic->partitions()) {
      world->topic->append(partition, fmt::format("record {} of {}", i, partition.value()));
    }
  }
  if (ends) world->topic->end();
  SourceUnderTest made;
  made.make = [world] { return std::make_unique<SourceWithAFault>(world); };
  made.records = 10;
  made.committed = [world] { return world->topic->committed(); };
  made.fail_reading = [world] { world->gone = true; };
  made.fail_commit = [world] {
    world->topic->fail_commits({Error::retryable(ErrorCode::unavailable, "the position cannot be kept")});
  };
  made.rebalance = [world] { world->rebalances = true; };
  if (!ends) made.more = [world] { world->topic->append(PartitionId(1), "one more"); };
  made.keep = world;
  return made;
}

}  // namespace millrace::conformance
