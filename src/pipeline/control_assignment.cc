// SPDX-License-Identifier: Apache-2.0
// The part of ControlLoop that gives lanes and takes them: epochs, revocations, the drain barrier.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pipeline/control_loop.h"
#include "pipeline/metric_buckets.h"
#include "pipeline/user_code_adapter.h"

namespace millrace {
namespace {

// What a lane's thread gets, beyond the drain deadline, to come back from code of others.
constexpr Duration kRemoveGrace = std::chrono::seconds(1);

}  // namespace

// What a source holds of a revocation that it began inside poll_events. May outlive the run, and then waits for
// nothing.
class ControlLoop::Revocation final : public DrainBarrier {
 public:
  Revocation(std::shared_ptr<ControlLoop*> loop, std::vector<LaneId> lanes)
      : loop_(std::move(loop)), lanes_(std::move(lanes)) {}

  std::vector<PartitionWatermark> wait() override {
    if (ControlLoop* loop = *loop_; loop != nullptr && !final_) {
      const SteadyTime begun = loop->clock_->now();
      loop->drain(lanes_, begun + loop->options_.pipeline.drain_timeout);
      loop->drained_for_ += loop->clock_->now() - begun;
      final_ = loop->final_watermarks(lanes_);
    }
    return final_.value_or(std::vector<PartitionWatermark>());
  }

 private:
  const std::shared_ptr<ControlLoop*> loop_;
  const std::vector<LaneId> lanes_;
  std::optional<std::vector<PartitionWatermark>> final_;
};

SourceContext ControlLoop::source_context(Meter meter) {
  SourceContext context;
  context.acks = checkpointer_.issuer();
  context.pipeline = options_.pipeline.name;
  context.clock = clock_;
  context.random = options_.random;
  context.log = options_.log.named("source");
  context.meter = std::move(meter);
  context.control = Waker(board_->control());
  context.ledger = board_->ledger();
  context.max_inflight_bytes = options_.pipeline.max_inflight_bytes;
  context.begin_revocation = [self = self_](std::span<const LaneId> lanes) -> std::shared_ptr<DrainBarrier> {
    return *self != nullptr ? (*self)->begin_revocation(lanes) : nullptr;
  };
  return context;
}

std::shared_ptr<DrainBarrier> ControlLoop::begin_revocation(std::span<const LaneId> lanes) {
  lanes_.stop(lanes);
  return std::make_shared<Revocation>(self_, std::vector<LaneId>(lanes.begin(), lanes.end()));
}

void ControlLoop::assign(LanesAssigned assigned) {
  Result<void> done = clear_old_lanes(assigned);
  if (done) {
    for (const auto& lane : assigned.lanes) {
      if (lane) cut_short_.erase(lane->partition());
    }
    settled_lanes_ = 0;
    done = lanes_.begin(std::move(assigned.lanes));
  }
  if (!done) board_->report("source", std::move(done).error());
}

// An assignment is whole: nothing of the one before goes on. Lanes that have come to their end go quietly; live ones
// are drained and committed, which a source should have asked for by revoking them.
Result<void> ControlLoop::clear_old_lanes(const LanesAssigned& assigned) {
  if (lanes_.all().empty()) return {};
  std::vector<LaneId> live;
  std::vector<PartitionId> dropped;
  for (const LiveLane& lane : lanes_.all()) {
    if (lane.phase() == LanePhase::exhausted && checkpointer_.pending(lane.status->partition) == 0) continue;
    if (lane.phase() != LanePhase::exhausted) live.push_back(lane.status->id);
    dropped.push_back(lane.status->partition);
  }
  cut_short_.insert(dropped.begin(), dropped.end());
  if (!live.empty()) {
    options_.log.warn(
        "the source breaks a rule: an assignment describes all lanes, after the ones before were revoked; "
        "the lanes still live are drained, committed and dropped",
        {{"live", std::to_string(live.size())}, {"assigned", std::to_string(assigned.lanes.size())}});
  }
  const std::vector<LaneId> all = lanes_.ids();
  const SteadyTime deadline = clock_->now() + options_.pipeline.drain_timeout;
  drain(all, deadline);
  for (const LiveLane& lane : lanes_.all()) {
    const bool ended = std::ranges::find(live, lane.status->id) == live.end();
    if (ended && lanes_.resolved(lane) && !checkpointer_.blocked(lane.status->partition)) {
      cut_short_.erase(lane.status->partition);
    }
  }
  MILLRACE_TRY(committer_.commit_and_flush(deadline));
  // The lanes that come were made before this commit, and begin where the one before it stood.
  for (const PartitionId partition : dropped) committer_.hold(partition);
  return take_away(all, live);
}

Result<void> ControlLoop::revoke(std::span<const LaneId> lanes) {
  std::vector<LaneId> known;
  for (const LaneId lane : lanes) {
    if (lanes_.find(lane) != nullptr) {
      known.push_back(lane);
    } else {
      options_.log.warn("the source revokes a lane that is not assigned", {{"lane", std::to_string(lane.value())}});
    }
  }
  const SteadyTime deadline = clock_->now() + options_.pipeline.drain_timeout;
  if (!drain(known, deadline)) {
    options_.log.warn(
        "revoked lanes did not drain in time; what they had not written is read again by their next owner",
        {{"drain_timeout", fmt::format("{:.1f}s", seconds(options_.pipeline.drain_timeout))}});
  }
  Result<void> committed = committer_.commit_and_flush(deadline);
  if (!committed && !committed.error().is_retryable()) return committed;
  if (!committed) {
    options_.log.warn(
        "the last commit of revoked lanes failed; their next owner reads again what it would have settled",
        {{"error", committed.error().describe()}});
  }
  for (const LaneId id : known) committer_.let_go(lanes_.find(id)->status->partition);
  return take_away(known, lanes);
}

// A source that is finished while lanes it began to revoke are still there would never be complete.
void ControlLoop::finish_events() {
  finished_ = true;
  std::vector<LaneId> stopped;
  for (const LiveLane& lane : lanes_.all()) {
    if (lane.stopping && lane.phase() != LanePhase::exhausted) stopped.push_back(lane.status->id);
  }
  if (stopped.empty()) return;
  options_.log.warn(
      "the source breaks a rule: a revocation that was begun ends with LanesRevoked; it is concluded here",
      {{"lanes", std::to_string(stopped.size())}});
  if (auto done = revoke(stopped); !done) board_->report("source", std::move(done).error());
}

// Removes drained lanes and tells the source of those in `told`.
Result<void> ControlLoop::take_away(std::span<const LaneId> lanes, std::span<const LaneId> told) {
  std::vector<PartitionId> gone;
  for (const LaneId id : lanes) {
    if (const LiveLane* lane = lanes_.find(id)) gone.push_back(lane->status->partition);
  }
  if (!lanes_.remove(lanes, clock_->now() + kRemoveGrace)) {
    options_.log.error(
        "a lane's thread did not come back from its poll or its chain; the lane goes on holding what it "
        "has until it does");
  }
  if (board_->ledger()) {
    for (const PartitionId partition : gone) board_->ledger()->forget(partition);
  }
  if (told.empty()) return {};
  return guarded_call("the source's revoked", [&] { options_.source->revoked(told); });
}

bool ControlLoop::drain(std::span<const LaneId> lanes, SteadyTime deadline) {
  lanes_.stop(lanes);
  const auto resolved = [this](LaneId id) {
    const LiveLane* lane = lanes_.find(id);
    return lane == nullptr || lanes_.resolved(*lane);
  };
  for (;;) {
    const EventCount::Ticket ticket = board_->control()->ticket();
    const SteadyTime now = beat();
    pump();
    if (std::ranges::all_of(lanes, resolved)) return true;
    if (ending()) deadline = std::min(deadline, drain_deadline());
    if (now >= deadline) return false;
    rest(ticket, std::min(deadline, now + kPeriod));
  }
}

// What is settled of the lanes' partitions: what moved and is not committed, else what was committed last.
std::vector<PartitionWatermark> ControlLoop::final_watermarks(std::span<const LaneId> lanes) {
  const std::vector<PartitionWatermark> moved = checkpointer_.take_watermarks();
  checkpointer_.put_back(moved);
  std::vector<PartitionWatermark> final;
  for (const LaneId id : lanes) {
    const LiveLane* lane = lanes_.find(id);
    if (lane == nullptr) continue;
    const PartitionId partition = lane->status->partition;
    const auto now = std::ranges::find(moved, partition, &PartitionWatermark::partition);
    const auto before = committer_.committed().find(partition);
    if (now != moved.end()) {
      final.push_back(*now);
    } else if (before != committer_.committed().end()) {
      final.push_back({partition, before->second});
    }
  }
  return final;
}

}  // namespace millrace
