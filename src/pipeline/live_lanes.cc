// SPDX-License-Identifier: Apache-2.0
#include "pipeline/live_lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "pipeline/user_code_adapter.h"

namespace millrace {
namespace {

// Sequence numbers of a lane's batches count up within an epoch; the epoch in front keeps tokens apart when a lane
// comes back under a later one.
constexpr unsigned kSequenceBits = 40;

Error broken(std::string_view rule) {
  return Error::fatal(ErrorCode::rule_broken,
                      fmt::format("an assignment breaks a rule of sources: {}. This is a mistake in the source's code; "
                                  "nothing of this assignment was read",
                                  rule));
}

}  // namespace

Result<void> LiveLanes::check(const std::vector<std::unique_ptr<SourceLane>>& lanes) const {
  std::set<LaneId> ids;
  std::set<PartitionId> partitions;
  for (const auto& lane : lanes) {
    if (!lane) return fail(broken("it holds a null lane"));
    if (!ids.insert(lane->id()).second)
      return fail(broken(fmt::format("lane {} is handed out twice", lane->id().value())));
    if (!partitions.insert(lane->partition()).second) {
      return fail(broken(fmt::format("partition {} belongs to two lanes, the second is lane {}",
                                     lane->partition().value(), lane->id().value())));
    }
  }
  return {};
}

Result<void> LiveLanes::begin(std::vector<std::unique_ptr<SourceLane>> lanes) {
  MILLRACE_CHECK(lanes_.empty(), "an assignment begins after the one before is gone");
  MILLRACE_TRY(guarded("the source's lanes", [&] { return check(lanes); }));
  std::vector<PartitionId> partitions;
  partitions.reserve(lanes.size());
  for (const auto& lane : lanes) partitions.push_back(lane->partition());
  const Epoch epoch = options_.checkpointer->begin_epoch(partitions);
  for (auto& lane : lanes) {
    auto status = std::make_shared<LaneStatus>(lane->id(), lane->partition());
    std::shared_ptr<LaneLoop> loop = options_.pool->assign();
    LiveLane& live = lanes_.emplace_back();
    live.status = status;
    live.loop = loop;
    live.moved = options_.clock->now();
    auto task = build(std::move(lane), std::move(status), loop->waker(), epoch);
    if (!task) {
      live.status->phase.store(LanePhase::removed, memory_order_release);
      return fail(std::move(task).error());
    }
    loop->send(LaneLoop::Add{std::move(*task)});
  }
  options_.metrics->lanes_assigned.add(lanes_.size());
  return {};
}

Result<std::unique_ptr<LaneTask>> LiveLanes::build(std::unique_ptr<SourceLane> lane, std::shared_ptr<LaneStatus> status,
                                                   const Waker& waker, Epoch epoch) const {
  const std::string name = fmt::format("lane {}", status->id.value());
  auto outputs = std::make_unique<LaneOutputs>();
  for (SinkPool* sink : options_.sinks) {
    LaneSink::Options ends = sink->lane_options();
    ends.lane = status->id;
    ends.partition = status->partition;
    ends.waker = waker;
    ends.first_sequence = epoch.value() << kSequenceBits;
    auto end = std::make_unique<LaneSink>(std::move(ends), sink->queue());
    if (sink->holds_letters()) {
      outputs->add_dead_letters(std::move(end), sink->encode_spec());
    } else {
      outputs->add(sink->name(), std::move(end));
    }
  }
  ChainContext context;
  context.pipeline = options_.pipeline;
  context.lane = status->id;
  context.partition = status->partition;
  context.outputs = outputs.get();
  context.meter = options_.chain_meter;
  context.ledger = options_.board->ledger();
  context.log = options_.board->log().named(name);
  MILLRACE_ASSIGN(auto chain, guarded("building the chain of " + name, [&] { return options_.chain(context); }));
  if (!chain) return fail(Error::fatal(ErrorCode::user_code, "the chain factory made no chain for " + name));
  LaneTask::Options task;
  MILLRACE_TRY(guarded_call("the source's " + name + ": set_waker", [&] { task.has_waker = lane->set_waker(waker); }));
  task.lane = std::move(lane);
  task.outputs = std::move(outputs);
  task.chain = std::move(chain);
  task.issuer = options_.checkpointer->issuer();
  task.status = std::move(status);
  task.board = options_.board;
  task.metrics = options_.metrics;
  task.clock = options_.clock;
  task.max_poll_records = options_.max_poll_records;
  task.max_pending_batches = options_.max_pending_batches;
  return std::make_unique<LaneTask>(std::move(task));
}

LiveLane* LiveLanes::find(LaneId lane) {
  const auto found = std::ranges::find(lanes_, lane, [](const LiveLane& live) { return live.status->id; });
  return found == lanes_.end() ? nullptr : &*found;
}

std::vector<LaneId> LiveLanes::ids() const {
  std::vector<LaneId> ids;
  ids.reserve(lanes_.size());
  for (const LiveLane& lane : lanes_) ids.push_back(lane.status->id);
  return ids;
}

void LiveLanes::stop(std::span<const LaneId> lanes) {
  for (const LaneId id : lanes) {
    LiveLane* lane = find(id);
    if (lane == nullptr || std::exchange(lane->stopping, true)) continue;
    lane->loop->send(LaneLoop::Stop{id});
  }
}

bool LiveLanes::remove(std::span<const LaneId> lanes, SteadyTime deadline) {
  std::vector<PartitionId> partitions;
  std::vector<LiveLane> going;
  for (const LaneId id : lanes) {
    LiveLane* lane = find(id);
    if (lane == nullptr) continue;
    lane->status->removed.store(true, memory_order_release);
    partitions.push_back(lane->status->partition);
    going.push_back(*lane);
  }
  // First, so that what fails because the lane goes is stale and says nothing about the run.
  options_.checkpointer->revoke(partitions);
  for (const LiveLane& lane : going) {
    if (lane.phase() != LanePhase::removed) lane.loop->send(LaneLoop::Remove{lane.status->id});
    std::erase_if(lanes_, [&](const LiveLane& one) { return one.status == lane.status; });
  }
  options_.metrics->lanes_revoked.add(going.size());
  const bool all_gone = wait_for_removal(going, deadline);
  for (const LiveLane& lane : going) {
    if (lane.phase() == LanePhase::removed) {
      options_.pool->release(lane.loop);
    } else {
      options_.pool->write_off(lane.loop);
    }
  }
  return all_gone;
}

bool LiveLanes::wait_for_removal(std::span<const LiveLane> lanes, SteadyTime deadline) const {
  const auto removed = [](const LiveLane& lane) { return lane.phase() == LanePhase::removed; };
  for (;;) {
    const EventCount::Ticket ticket = options_.board->control()->ticket();
    if (std::ranges::all_of(lanes, removed)) return true;
    if (options_.clock->now() >= deadline) return false;
    options_.board->control()->wait_until(ticket, *options_.clock, deadline);
  }
}

bool LiveLanes::resolved(const LiveLane& lane) const {
  const PartitionId partition = lane.status->partition;
  if (options_.checkpointer->blocked(partition)) return true;
  return lane.done() && options_.checkpointer->pending(partition) == 0;
}

void LiveLanes::wake_at_limit() {
  for (const LiveLane& lane : lanes_) {
    if (lane.status->at_limit.exchange(false, memory_order_acq_rel)) lane.loop->wake();
  }
}

}  // namespace millrace
