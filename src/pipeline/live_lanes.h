// SPDX-License-Identifier: Apache-2.0
// LiveLanes: the lanes of the present assignment as the control thread knows them: who they are, where they sit, how
// far they are. Builds them, starts them, stops them, takes them away. Control thread.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "millrace/checkpoint/checkpointer.h"
#include "millrace/source/lane.h"
#include "pipeline/lane_pool.h"
#include "pipeline/sink_pool.h"

namespace millrace {

struct LiveLane {
  std::shared_ptr<LaneStatus> status;
  std::shared_ptr<LaneLoop> loop;
  bool stopping = false;
  /// For the stall watch: how far its watermark was when it last moved, and when that was.
  std::uint64_t settled = 0;
  std::uint64_t writes = 0;
  SteadyTime moved;
  /// For back-pressure.
  SteadyTime paused_at;

  [[nodiscard]] LanePhase phase() const noexcept { return status->phase.load(memory_order_acquire); }
  /// Nothing of it is left on the lane's side of the queues, and nothing will come.
  [[nodiscard]] bool done() const noexcept {
    const LanePhase now = phase();
    return now == LanePhase::exhausted || now == LanePhase::drained || now == LanePhase::removed;
  }
};

class LiveLanes {
 public:
  struct Options {
    Checkpointer* checkpointer = nullptr;
    LanePool* pool = nullptr;
    std::vector<SinkPool*> sinks;
    ChainFactory chain;
    std::string pipeline;
    Meter chain_meter;
    std::shared_ptr<RunBoard> board;
    std::shared_ptr<LaneMetrics> metrics;
    Clock* clock = &Clock::real();
    std::size_t max_poll_records = 0;
    std::size_t max_pending_batches = 0;
  };
  explicit LiveLanes(Options options) : options_(std::move(options)) {}

  /// Begins an epoch over `lanes` and starts them. Requires that no lane is left of the assignment before.
  [[nodiscard]] Result<void> begin(std::vector<std::unique_ptr<SourceLane>> lanes);
  /// Tells lanes to take no new batch, let through the one they hold, and seal what is open.
  void stop(std::span<const LaneId> lanes);
  /// Takes lanes out of the assignment: what they still resolve is stale from here on (INV-5). They are destroyed on
  /// their threads, which this waits for until `deadline`. False when one was not destroyed in time.
  [[nodiscard]] bool remove(std::span<const LaneId> lanes, SteadyTime deadline);

  [[nodiscard]] std::vector<LiveLane>& all() noexcept { return lanes_; }
  [[nodiscard]] const std::vector<LiveLane>& all() const noexcept { return lanes_; }
  [[nodiscard]] LiveLane* find(LaneId lane);
  [[nodiscard]] std::vector<LaneId> ids() const;

  /// Nothing of the lane is in flight any more that could move its watermark: it is done and all it issued is settled,
  /// or a failed batch blocks its partition for good.
  [[nodiscard]] bool resolved(const LiveLane& lane) const;
  /// Wakes the lanes that wait for their watermark to move. Called after acks were drained.
  void wake_at_limit();

 private:
  [[nodiscard]] bool wait_for_removal(std::span<const LiveLane> lanes, SteadyTime deadline) const;
  [[nodiscard]] Result<void> check(const std::vector<std::unique_ptr<SourceLane>>& lanes) const;
  [[nodiscard]] Result<std::unique_ptr<LaneTask>> build(std::unique_ptr<SourceLane> lane,
                                                        std::shared_ptr<LaneStatus> status, const Waker& waker,
                                                        Epoch epoch) const;

  const Options options_;
  std::vector<LiveLane> lanes_;
};

}  // namespace millrace
