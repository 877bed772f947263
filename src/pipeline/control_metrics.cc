// SPDX-License-Identifier: Apache-2.0
#include "pipeline/control_metrics.h"

#include <string>

#include "millrace/version.h"
#include "pipeline/metric_buckets.h"

namespace millrace {

Result<ControlMetrics> ControlMetrics::make(const Meter& meter) {
  ControlMetrics made;
  constexpr std::string_view kCommits = "Commits of watermarks, by how they ended.";
  MILLRACE_ASSIGN(made.commits_ok, meter.counter("checkpoint_commits_total", kCommits, {{"outcome", "ok"}}));
  MILLRACE_ASSIGN(made.commits_failed, meter.counter("checkpoint_commits_total", kCommits, {{"outcome", "failed"}}));
  MILLRACE_ASSIGN(made.stale_acks,
                  meter.counter("checkpoint_stale_acks_total", "Acks of an earlier assignment; they move nothing."));
  MILLRACE_ASSIGN(made.commit_seconds,
                  meter.histogram("checkpoint_commit_duration_seconds", "One commit.", io_seconds()));
  MILLRACE_ASSIGN(made.pending_batches,
                  meter.gauge("checkpoint_pending_batches", "Batches polled and not yet behind their watermark."));
  MILLRACE_ASSIGN(made.watermark_age_seconds,
                  meter.gauge("checkpoint_watermark_age_seconds",
                              "How long the watermark that waits longest has not moved while batches are pending."));
  MILLRACE_ASSIGN(made.paused, meter.gauge("backpressure_paused", "Lanes whose source was told to pause."));
  MILLRACE_ASSIGN(made.inflight_bytes, meter.gauge("backpressure_inflight_bytes",
                                                   "Bytes of sealed batches that wait or are being written."));
  MILLRACE_ASSIGN(made.pause_events, meter.counter("backpressure_pause_events_total", "Pauses of a lane's source."));
  MILLRACE_ASSIGN(made.queue_full_events, meter.counter("queue_full_events_total", "Sealed batches that found no room.",
                                                        {{"queue", "sealed"}}));
  MILLRACE_ASSIGN(made.paused_seconds,
                  meter.histogram("backpressure_paused_seconds", "How long a lane was paused.", io_seconds()));
  constexpr std::array<std::string_view, kStates> kNames{
      "starting", "running", "draining", "completed", "completed_with_errors", "stopped", "failed"};
  for (std::size_t i = 0; i < kStates; ++i) {
    MILLRACE_ASSIGN(made.state.at(i), meter.gauge("pipeline_state", "1 for the state the pipeline is in, 0 for others.",
                                                  {{"state", std::string(kNames.at(i))}}));
  }
  MILLRACE_ASSIGN(made.threads, meter.gauge("pipeline_threads", "Lane threads that run."));
  MILLRACE_ASSIGN(Gauge info,
                  meter.gauge("pipeline_info", "Always 1; the version is a label.", {{"version", MILLRACE_VERSION}}));
  info.set(1);
  made.set_state(starting);
  return made;
}

void ControlMetrics::set_state(State now) {
  for (std::size_t i = 0; i < kStates; ++i) state.at(i).set(i == now ? 1 : 0);
}

}  // namespace millrace
