// SPDX-License-Identifier: Apache-2.0
#include "pipeline/control_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pipeline/metric_buckets.h"
#include "pipeline/user_code_adapter.h"

namespace millrace {
namespace {

// An event loop that takes longer than this holds up acks, commits and heartbeats; said in the log, as a broken rule.
constexpr Duration kSlowEvent = std::chrono::seconds(5);

std::vector<SinkPool*> pointers(const std::vector<std::unique_ptr<SinkPool>>& sinks) {
  std::vector<SinkPool*> pointers;
  pointers.reserve(sinks.size());
  for (const auto& sink : sinks) pointers.push_back(sink.get());
  return pointers;
}

LanePool::Options pool_options(const ControlLoop::Options& options) {
  LanePool::Options pool;
  pool.threads = options.pipeline.threads != 0 ? options.pipeline.threads : usable_cores();
  pool.pin = options.pipeline.pin_threads;
  pool.poll_timeout = options.pipeline.poll_timeout;
  pool.clock = options.clock;
  pool.host = options.host;
  pool.board = options.board;
  pool.budget = options.budget;
  // Lanes use their source, and their ends of the sinks, until they are destroyed on their threads.
  pool.keep_alive.push_back(options.source);
  for (const auto& sink : options.sinks) {
    pool.keep_alive.push_back(sink->keep_alive());
    if (sink->lane_options().budget) pool.open_budgets.push_back(sink->lane_options().budget);
  }
  return pool;
}

LiveLanes::Options lane_options(const ControlLoop::Options& options, Checkpointer& checkpointer, LanePool& pool) {
  LiveLanes::Options lanes;
  lanes.checkpointer = &checkpointer;
  lanes.pool = &pool;
  lanes.sinks = pointers(options.sinks);
  lanes.chain = options.chain;
  lanes.pipeline = options.pipeline.name;
  lanes.chain_meter = options.chain_meter;
  lanes.board = options.board;
  lanes.metrics = options.lane_metrics;
  lanes.clock = options.clock;
  lanes.max_poll_records = options.pipeline.max_poll_records;
  lanes.max_pending_batches = options.pipeline.max_pending_batches;
  return lanes;
}

}  // namespace

ControlLoop::ControlLoop(Options options)
    : options_(std::move(options)),
      board_(options_.board),
      clock_(options_.clock),
      pool_(pool_options(options_)),
      lanes_(lane_options(options_, checkpointer_, pool_)),
      committer_({.source = options_.source.get(),
                  .checkpointer = &checkpointer_,
                  .metrics = &options_.metrics,
                  .clock = options_.clock,
                  .random = options_.random,
                  .log = options_.log,
                  .interval = options_.pipeline.checkpoint_interval,
                  .committed =
                      [this](std::span<const PartitionWatermark> settled) {
                        for (const auto& sink : options_.sinks) sink->settled(settled);
                      }}),
      back_pressure_(*options_.source, options_.metrics, *options_.clock),
      stalls_(checkpointer_, pointers(options_.sinks), *board_, options_.pipeline.stalled_fail_after),
      self_(std::make_shared<ControlLoop*>(this)) {}

ControlLoop::~ControlLoop() { *self_ = nullptr; }

void ControlLoop::run() {
  options_.view->phase.store(PipelineSnapshot::Phase::running, memory_order_release);
  options_.metrics.set_state(ControlMetrics::running);
  for (const auto& sink : options_.sinks) sink->start();
  for (;;) {
    const EventCount::Ticket ticket = board_->control()->ticket();
    const SteadyTime now = beat();
    pump();
    if (ending() || complete()) break;
    const bool event = serve_event();
    const SteadyTime wake_at = serve_lanes(now);
    if (!event) rest(ticket, wake_at);
  }
  wind_down();
}

SteadyTime ControlLoop::beat() {
  const SteadyTime now = clock_->now();
  post_view(now);
  return now;
}

// Acks become watermarks; a lane that waits for its watermark is woken.
void ControlLoop::pump() {
  const Checkpointer::Drained drained = checkpointer_.drain();
  if (drained.stale != 0) options_.metrics.stale_acks.add(drained.stale);
  if (drained.applied != 0) lanes_.wake_at_limit();
  if (drained.failed != 0 && !winding_down_ && !board_->has_error()) {
    board_->report("checkpoint", Error::fatal(ErrorCode::not_durable,
                                              fmt::format("{} batches were let go before they were durable; nothing "
                                                          "behind them can be committed",
                                                          drained.failed)));
  }
}

// True when the source had an event: there may be more.
bool ControlLoop::serve_event() {
  if (finished_) return false;
  const SteadyTime begun = clock_->now();
  drained_for_ = Duration::zero();
  Result<SourceEvent> event =
      guarded("the source's poll_events", [&] { return options_.source->poll_events(Duration::zero()); });
  const Duration took = clock_->now() - begun - drained_for_;
  if (took > kSlowEvent) {
    options_.log.warn("the source breaks a rule: poll_events does not block; acks and commits waited for it",
                      {{"took", fmt::format("{:.1f}s", seconds(took))}});
  }
  if (!event) {
    board_->report("source", std::move(event).error());
    return true;
  }
  if (auto* assigned = std::get_if<LanesAssigned>(&*event)) {
    assign(std::move(*assigned));
  } else if (const auto* revoked = std::get_if<LanesRevoked>(&*event)) {
    if (auto done = revoke(revoked->lanes); !done) board_->report("source", std::move(done).error());
  } else if (std::holds_alternative<Finished>(*event)) {
    finish_events();
  } else {
    return false;
  }
  return true;
}

// What is due for the lanes; returns when something will be due again.
SteadyTime ControlLoop::serve_lanes(SteadyTime now) {
  if (auto stalled = stalls_.look(lanes_.all(), now)) board_->report("checkpoint", std::move(*stalled));
  options_.metrics.watermark_age_seconds.set(seconds(stalls_.longest()));
  // A lane that has come to its end commits at once, whatever the interval.
  if (newly_settled() || now >= committer_.due()) {
    if (auto done = committer_.commit(stalls_.held_up()); !done) board_->report("source", std::move(done).error());
  }
  Result<SteadyTime> look_again = back_pressure_.update(lanes_.all());
  if (!look_again) {
    board_->report("source", std::move(look_again).error());
    return now;
  }
  return std::min({*look_again, committer_.due(), now + kPeriod});
}

void ControlLoop::rest(EventCount::Ticket ticket, SteadyTime wake_at) {
  board_->control()->wait_until(ticket, *clock_, wake_at);
}

// Everything that will ever come has come, and is acknowledged.
bool ControlLoop::complete() const {
  const auto exhausted = [](const LiveLane& lane) { return lane.phase() == LanePhase::exhausted; };
  return finished_ && std::ranges::all_of(lanes_.all(), exhausted) && checkpointer_.pending() == 0;
}

bool ControlLoop::newly_settled() {
  const auto settled = [this](const LiveLane& lane) {
    return lane.phase() == LanePhase::exhausted && checkpointer_.pending(lane.status->partition) == 0;
  };
  const auto count = static_cast<std::size_t>(std::ranges::count_if(lanes_.all(), settled));
  return std::exchange(settled_lanes_, count) < count;
}

void ControlLoop::post_view(SteadyTime now) {
  RunView& view = *options_.view;
  std::size_t exhausted = 0;
  std::size_t blocked = 0;
  std::size_t idle = 0;
  for (const LiveLane& lane : lanes_.all()) {
    const LanePhase phase = lane.phase();
    exhausted += static_cast<std::size_t>(phase == LanePhase::exhausted);
    blocked += static_cast<std::size_t>(lane.status->blocked());
    idle += static_cast<std::size_t>(phase == LanePhase::running && lane.status->idle.load(memory_order_relaxed));
  }
  view.lanes.store(lanes_.all().size(), memory_order_relaxed);
  view.lanes_exhausted.store(exhausted, memory_order_relaxed);
  view.lanes_blocked.store(blocked, memory_order_relaxed);
  view.lanes_idle.store(idle, memory_order_relaxed);
  view.pending_batches.store(checkpointer_.pending(), memory_order_relaxed);
  view.inflight_bytes.store(options_.budget->used(), memory_order_relaxed);
  view.commit_failing.store(committer_.failing(), memory_order_relaxed);
  view.committed.store(committer_.succeeded(), memory_order_relaxed);
  view.heartbeat.store(now, memory_order_relaxed);
  options_.lane_metrics->lanes_active.set(static_cast<double>(lanes_.all().size() - exhausted));
  options_.metrics.inflight_bytes.set(static_cast<double>(options_.budget->used()));
  options_.metrics.pending_batches.set(static_cast<double>(checkpointer_.pending()));
  options_.metrics.threads.set(static_cast<double>(pool_.threads()));
  const std::uint64_t refusals = options_.budget->refusals();
  options_.metrics.queue_full_events.add(refusals - std::exchange(refusals_, refusals));
  for (const auto& sink : options_.sinks) sink->post_depth();
}

std::vector<PartitionWatermark> ControlLoop::committed() const {
  std::vector<PartitionWatermark> committed;
  for (const auto& [partition, watermark] : committer_.committed()) committed.push_back({partition, watermark});
  return committed;
}

}  // namespace millrace
