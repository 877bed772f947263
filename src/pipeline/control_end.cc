// SPDX-License-Identifier: Apache-2.0
// The part of ControlLoop that ends a run: one way for the end of input, a stop and a failure. Lanes stop, chains
// flush, what is open is sealed and written, writers close, the last commit is made, and only then is it said how the
// run ended.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pipeline/control_loop.h"
#include "pipeline/metric_buckets.h"
#include "pipeline/user_code_adapter.h"

namespace millrace {
namespace {

// What a lane's thread gets, beyond the drain deadline, to come back from code of others.
constexpr Duration kQuitGrace = std::chrono::seconds(1);
// What the last commit and the source's goodbye get when the drain has used up its time: what was acknowledged is worth
// a moment. With the default drain of 25 s the process is gone before those who stop it (30 s) lose patience.
constexpr Duration kCommitGrace = std::chrono::seconds(2);

ControlMetrics::State state_gauge(ExitState state) {
  switch (state) {
    case ExitState::completed:
      return ControlMetrics::completed;
    case ExitState::completed_with_errors:
      return ControlMetrics::completed_with_errors;
    case ExitState::stopped:
      return ControlMetrics::stopped;
    case ExitState::failed:
      break;
  }
  return ControlMetrics::failed;
}

}  // namespace

SteadyTime ControlLoop::drain_deadline() {
  if (!end_seen_) end_seen_ = clock_->now();
  return *end_seen_ + options_.pipeline.drain_timeout;
}

void ControlLoop::wind_down() {
  winding_down_ = true;
  options_.view->phase.store(PipelineSnapshot::Phase::draining, memory_order_release);
  options_.metrics.set_state(ControlMetrics::draining);
  const SteadyTime deadline = drain_deadline();
  for (const auto& sink : options_.sinks) sink->begin_drain(deadline);
  drain(lanes_.ids(), deadline);
  const bool was_complete = complete();
  // Lanes that are destroyed give up what they hold, which is no less unacknowledged for it; but a lane whose partition
  // has failed may still be in its last run, whose records count too.
  std::uint64_t parked = 0;
  for (const LiveLane& lane : lanes_.all()) parked += lane.status->parked_records.load(memory_order_relaxed);
  const std::uint64_t left_out =
      board_->records_revoked.load() + board_->records_put_off.load() + board_->records_recalled.load();
  const std::size_t threads_left = pool_.quit(deadline + kQuitGrace);
  // A batch that is given up is settled by its letter.
  const std::uint64_t settled =
      board_->records_written.load() + board_->letters_written.load() + board_->records_dropped.load() + left_out;
  std::uint64_t handed = board_->records_encoded.load();
  for (const auto& [reason, letters] : board_->dead_lettered()) handed += letters;
  unacknowledged_ = handed - std::min(settled, handed) + parked;
  Result<void> closed = close_sinks(deadline);
  pump();
  // A sink that could not close may not hold all it said it holds. What was committed on the way stays committed; what
  // has moved since is withheld, and read again.
  const SteadyTime last = std::max(deadline, clock_->now() + kCommitGrace);
  Result<void> committed = closed ? committer_.commit_and_flush(last) : Result<void>();
  if (auto said = guarded_call("the source's close", [&] { options_.source->close_by(last); }); !said) {
    board_->report("source", std::move(said).error());
  }
  if (auto error = verdict(was_complete, threads_left, std::move(closed), std::move(committed))) {
    end(ExitState::failed, std::move(error));
  } else {
    const bool with_errors = options_.source->progress().objects_quarantined > 0;
    end(!was_complete ? ExitState::stopped
        : with_errors ? ExitState::completed_with_errors
                      : ExitState::completed,
        std::nullopt);
  }
}

void ControlLoop::fail_start(Error error) {
  winding_down_ = true;
  std::ignore = close_sinks(clock_->now() + options_.pipeline.drain_timeout);
  end(ExitState::failed, std::move(error));
}

void ControlLoop::end(ExitState state, std::optional<Error> error) {
  state_ = state;
  error_ = std::move(error);
  post_view(clock_->now());
  // Nothing of the run is left to be active, paused or waited for.
  options_.lane_metrics->lanes_active.set(0);
  options_.metrics.paused.set(0);
  options_.metrics.watermark_age_seconds.set(0);
  options_.view->phase.store(PipelineSnapshot::Phase::ended, memory_order_release);
  options_.metrics.set_state(state_gauge(state));
}

Result<void> ControlLoop::close_sinks(SteadyTime deadline) {
  Result<void> closed;
  for (const auto& sink : options_.sinks) {
    Result<void> one = sink->close(deadline);
    if (!one) options_.log.error("a sink did not close", {{"error", one.error().describe()}});
    if (closed && !one) closed = std::move(one);
  }
  return closed;
}

// Why the run has failed; nothing when it has not. Completed is a strong word (INV-2): any doubt is an error.
std::optional<Error> ControlLoop::verdict(bool was_complete, std::size_t threads_left, Result<void> closed,
                                          Result<void> committed) const {
  if (auto error = board_->error()) return error;
  if (!closed) return std::move(closed).error();
  if (threads_left != 0) {
    return Error::fatal(ErrorCode::deadline, fmt::format("{} lane threads did not return from a poll or a chain by the "
                                                         "drain deadline and were left behind",
                                                         threads_left));
  }
  if (checkpointer_.pending() != 0) return not_durable();
  if (!committed) return std::move(committed).error().as(ErrorClass::fatal);
  if (!was_complete) return std::nullopt;
  if (!cut_short_.empty()) {
    return Error::fatal(ErrorCode::rule_broken,
                        fmt::format("partition {} and {} more were not read to their end: an assignment replaced their "
                                    "lanes and left them out, without a revocation",
                                    cut_short_.begin()->value(), cut_short_.size() - 1));
  }
  if (unacknowledged_ != 0) {
    return Error::fatal(ErrorCode::internal, fmt::format("every batch is acknowledged, yet {} records that the chains "
                                                         "encoded are in no durable batch: a chain counts or encodes "
                                                         "records wrongly",
                                                         unacknowledged_));
  }
  return std::nullopt;
}

Error ControlLoop::not_durable() const {
  const std::string cause = board_->unwritten();
  return Error::fatal(
      ErrorCode::not_durable,
      fmt::format(
          "{} records ({} batches) were not durable when the drain timeout of {:.1f}s ended; nothing of them is "
          "committed, and the next run reads them again. pipeline.drain_timeout sets how long the end may take{}",
          unacknowledged_, checkpointer_.pending(), seconds(options_.pipeline.drain_timeout),
          cause.empty() ? "" : ". The last to be given up: " + cause));
}

}  // namespace millrace
