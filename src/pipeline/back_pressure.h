// SPDX-License-Identifier: Apache-2.0
// BackPressure: tells the source which lanes to pause and resume. A pause is a courtesy to the source, which may stop
// fetching; what bounds memory is that a blocked lane is not polled. So a lane is paused only when it has been blocked
// for a while, and resumed at once; no queue however small makes it wait. Control thread.
#pragma once

#include <span>

#include "millrace/source/source.h"
#include "pipeline/control_metrics.h"
#include "pipeline/live_lanes.h"

namespace millrace {

class BackPressure {
 public:
  /// Shorter blocks are the normal play of lanes and writers.
  static constexpr Duration kPauseAfter = std::chrono::milliseconds(20);

  BackPressure(Source& source, ControlMetrics& metrics, Clock& clock)
      : source_(&source), metrics_(&metrics), clock_(&clock) {}

  /// Calls pause and resume for the lanes whose state asks for it. Returns when to look again.
  [[nodiscard]] Result<SteadyTime> update(std::span<LiveLane> lanes);

 private:
  [[nodiscard]] Result<void> pause_blocked(std::span<LiveLane> lanes, SteadyTime& look_again);
  [[nodiscard]] Result<void> resume_clear(std::span<LiveLane> lanes);

  Source* const source_;
  ControlMetrics* const metrics_;
  Clock* const clock_;
};

}  // namespace millrace
