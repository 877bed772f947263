// SPDX-License-Identifier: Apache-2.0
// ControlLoop: the control thread's way through a run: events of the source, acks, commits, back-pressure, and the end.
// One thread, the caller of Pipeline::run; it waits for the data plane only in a drain.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "millrace/checkpoint/checkpointer.h"
#include "millrace/pipeline/pipeline.h"
#include "pipeline/back_pressure.h"
#include "pipeline/committer.h"
#include "pipeline/live_lanes.h"
#include "pipeline/run_view.h"
#include "pipeline/stall_watch.h"

namespace millrace {

class ControlLoop {
 public:
  /// How late a stop request, or an event of a source that does not wake the loop, may be seen.
  static constexpr Duration kPeriod = std::chrono::milliseconds(50);

  struct Options {
    PipelineOptions pipeline;
    std::shared_ptr<Source> source;
    std::vector<std::unique_ptr<SinkPool>> sinks;
    ChainFactory chain;
    std::shared_ptr<InflightBudget> budget;
    std::shared_ptr<RunBoard> board;
    std::shared_ptr<LaneMetrics> lane_metrics;
    ControlMetrics metrics;
    Meter chain_meter;
    std::shared_ptr<RunView> view;
    StopHandle stop;
    Clock* clock = &Clock::real();
    ThreadHost* host = &ThreadHost::real();
    Random* random = &Random::system();
    Logger log;
  };
  explicit ControlLoop(Options options);
  ~ControlLoop();
  ControlLoop(const ControlLoop&) = delete;
  ControlLoop& operator=(const ControlLoop&) = delete;

  /// What the source gets at open.
  [[nodiscard]] SourceContext source_context(Meter meter);
  /// From the first event to the end. Everything is closed on return.
  void run();
  /// For a run that ends before its first event.
  void fail_start(Error error);

  [[nodiscard]] ExitState state() const noexcept { return state_; }
  [[nodiscard]] const std::optional<Error>& error() const noexcept { return error_; }
  [[nodiscard]] std::uint64_t unacknowledged() const noexcept { return unacknowledged_; }
  [[nodiscard]] std::vector<PartitionWatermark> committed() const;

 private:
  class Revocation;

  // Each reports what goes wrong to the board, which ends the run.
  SteadyTime beat();
  void pump();
  bool serve_event();
  [[nodiscard]] SteadyTime serve_lanes(SteadyTime now);
  void rest(EventCount::Ticket ticket, SteadyTime wake_at);
  [[nodiscard]] bool ending() const { return board_->has_error() || options_.stop.requested(); }
  [[nodiscard]] bool complete() const;
  [[nodiscard]] bool newly_settled();

  // Assignments.
  void assign(LanesAssigned assigned);
  [[nodiscard]] Result<void> clear_old_lanes(const LanesAssigned& assigned);
  [[nodiscard]] std::shared_ptr<DrainBarrier> begin_revocation(std::span<const LaneId> lanes);
  [[nodiscard]] Result<void> revoke(std::span<const LaneId> lanes);
  void finish_events();
  [[nodiscard]] Result<void> take_away(std::span<const LaneId> lanes, std::span<const LaneId> told);
  /// Stops `lanes` and pumps acks until all they hold has resolved or `deadline` passes; true when it has resolved.
  bool drain(std::span<const LaneId> lanes, SteadyTime deadline);
  [[nodiscard]] std::vector<PartitionWatermark> final_watermarks(std::span<const LaneId> lanes);

  // The end.
  [[nodiscard]] SteadyTime drain_deadline();
  void wind_down();
  [[nodiscard]] Result<void> close_sinks(SteadyTime deadline);
  [[nodiscard]] std::optional<Error> verdict(bool was_complete, std::size_t threads_left, Result<void> closed,
                                             Result<void> committed) const;
  void end(ExitState state, std::optional<Error> error);
  [[nodiscard]] Error not_durable() const;
  void post_view(SteadyTime now);

  Options options_;
  const std::shared_ptr<RunBoard> board_;
  Clock* const clock_;
  /// Without a waker: who settles something that may be waited for wakes this thread, once per written chunk rather
  /// than once per batch. What nobody waits for is seen within kPeriod.
  Checkpointer checkpointer_;
  LanePool pool_;
  LiveLanes lanes_;
  Committer committer_;
  BackPressure back_pressure_;
  StallWatch stalls_;

  bool finished_ = false;               ///< the source has no more events
  std::size_t settled_lanes_ = 0;       ///< exhausted and acknowledged
  std::set<PartitionId> cut_short_;     ///< an assignment replaced their lane before its end and left them out
  std::optional<SteadyTime> end_seen_;  ///< when a stop or an error was first seen
  Duration drained_for_{0};             ///< time of this event spent in a drain barrier

  ExitState state_ = ExitState::failed;
  std::optional<Error> error_;
  std::uint64_t unacknowledged_ = 0;
  std::uint64_t refusals_ = 0;  ///< of the budget, as posted last
  bool winding_down_ = false;
  /// Lets handles that the source keeps find the loop while it lives.
  std::shared_ptr<ControlLoop*> self_;
};

}  // namespace millrace
