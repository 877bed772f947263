// SPDX-License-Identifier: Apache-2.0
#include "pipeline/back_pressure.h"

#include <algorithm>
#include <vector>

#include "pipeline/metric_buckets.h"
#include "pipeline/user_code_adapter.h"

namespace millrace {

Result<SteadyTime> BackPressure::update(std::span<LiveLane> lanes) {
  SteadyTime look_again = SteadyTime::max();
  MILLRACE_TRY(pause_blocked(lanes, look_again));
  // Looked at after the pauses were posted: a lane that came free meanwhile either sees its pause and wakes this
  // thread, or is seen here.
  MILLRACE_TRY(resume_clear(lanes));
  const auto paused = [](const LiveLane& lane) { return lane.status->paused.load(memory_order_relaxed); };
  metrics_->paused.set(static_cast<double>(std::ranges::count_if(lanes, paused)));
  return look_again;
}

Result<void> BackPressure::pause_blocked(std::span<LiveLane> lanes, SteadyTime& look_again) {
  const SteadyTime now = clock_->now();
  std::vector<LaneId> ids;
  for (LiveLane& lane : lanes) {
    LaneStatus& status = *lane.status;
    const Duration::rep since = status.blocked_since.load(memory_order_seq_cst);
    if (since == LaneStatus::kNotBlocked || lane.stopping || status.paused.load(memory_order_relaxed)) continue;
    const SteadyTime due = SteadyTime(Duration(since)) + kPauseAfter;
    if (now < due) {
      look_again = std::min(look_again, due);
      continue;
    }
    status.paused.store(true, memory_order_seq_cst);
    lane.paused_at = now;
    ids.push_back(status.id);
  }
  if (ids.empty()) return {};
  metrics_->pause_events.add(ids.size());
  return guarded_call("the source's pause", [&] { source_->pause(ids); });
}

Result<void> BackPressure::resume_clear(std::span<LiveLane> lanes) {
  std::vector<LaneId> ids;
  std::vector<const LiveLane*> clear;
  for (const LiveLane& lane : lanes) {
    if (!lane.status->paused.load(memory_order_relaxed) || lane.status->blocked()) continue;
    ids.push_back(lane.status->id);
    clear.push_back(&lane);
    metrics_->paused_seconds.observe(seconds(clock_->now() - lane.paused_at));
  }
  if (ids.empty()) return {};
  MILLRACE_TRY(guarded_call("the source's resume", [&] { source_->resume(ids); }));
  for (const LiveLane* lane : clear) {
    lane->status->paused.store(false, memory_order_seq_cst);
    lane->loop->wake();
  }
  return {};
}

}  // namespace millrace
