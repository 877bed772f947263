// SPDX-License-Identifier: Apache-2.0
// Metric handles of the control plane (etl_checkpoint_*, etl_backpressure_*, etl_pipeline_*): made when the pipeline is
// built. Control thread.
#pragma once

#include <array>
#include <cstddef>

#include "millrace/metrics/meter.h"
#include "millrace/pipeline/run_report.h"

namespace millrace {

struct ControlMetrics {
  static Result<ControlMetrics> make(const Meter& meter);

  Counter commits_ok, commits_failed, stale_acks;
  Histogram commit_seconds;
  Gauge pending_batches, watermark_age_seconds;

  Gauge paused, inflight_bytes;
  Counter pause_events, queue_full_events;
  Histogram paused_seconds;

  enum State : std::size_t { starting, running, draining, completed, completed_with_errors, stopped, failed };
  static constexpr std::size_t kStates = failed + 1;
  std::array<Gauge, kStates> state;
  Gauge threads;
  void set_state(State now);
};

}  // namespace millrace
