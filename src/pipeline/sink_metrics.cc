// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sink_metrics.h"

#include <string>

#include "pipeline/metric_buckets.h"

namespace millrace {

Result<SinkMetrics> SinkMetrics::make(const Meter& meter, std::size_t capacity) {
  SinkMetrics made;
  MILLRACE_ASSIGN(made.records, meter.counter("sink_records_total", "Records in batches that are durable."));
  MILLRACE_ASSIGN(made.bytes, meter.counter("sink_bytes_total", "Bytes of durable batches as stored."));
  MILLRACE_ASSIGN(made.retries, meter.counter("sink_retries_total", "Writes tried again."));
  MILLRACE_ASSIGN(made.abandoned, meter.counter("sink_abandoned_batches_total",
                                                "Batches that failed for good or were not written by the deadline."));
  MILLRACE_ASSIGN(made.dropped, meter.counter("sink_dropped_batches_total",
                                              "Batches given up and acknowledged on the operator's word."));
  MILLRACE_ASSIGN(made.drain_overruns, meter.counter("sink_drain_overrun_total",
                                                     "Writers that ignored the drain deadline and were left behind."));
  for (std::size_t i = 0; i < kReasons; ++i) {
    MILLRACE_ASSIGN(made.flushes.at(i),
                    meter.counter("sink_flushes_total", "Batches settled, by what sealed them.",
                                  {{"reason", std::string(to_string(static_cast<SealReason>(i)))}}));
  }
  for (std::size_t i = 0; i < kClasses; ++i) {
    MILLRACE_ASSIGN(made.errors.at(i),
                    meter.counter("sink_errors_total", "Failed tries of a write.",
                                  {{"error_type", std::string(to_string(static_cast<ErrorClass>(i)))}}));
  }
  MILLRACE_ASSIGN(made.inflight_batches, meter.gauge("sink_inflight_batches", "Batches being written."));
  MILLRACE_ASSIGN(made.batch_records, meter.histogram("sink_batch_records", "Records of a batch.", record_counts()));
  MILLRACE_ASSIGN(made.batch_bytes, meter.histogram("sink_batch_bytes", "Bytes of a batch as sealed.", byte_sizes()));
  MILLRACE_ASSIGN(made.flush_seconds, meter.histogram("sink_flush_duration_seconds",
                                                      "From the seal of a batch until it is settled.", io_seconds()));
  MILLRACE_ASSIGN(made.write_ok_seconds, meter.histogram("sink_write_duration_seconds", "One try of a write.",
                                                         io_seconds(), {{"outcome", "ok"}}));
  MILLRACE_ASSIGN(made.write_error_seconds, meter.histogram("sink_write_duration_seconds", "One try of a write.",
                                                            io_seconds(), {{"outcome", "error"}}));
  MILLRACE_ASSIGN(made.backoff_seconds, meter.histogram("sink_retry_backoff_seconds",
                                                        "The wait before a write is tried again.", io_seconds()));
  MILLRACE_ASSIGN(
      made.latency_seconds,
      meter.histogram("e2e_latency_seconds", "From the first record of a batch on its lane until the batch is durable.",
                      io_seconds()));
  MILLRACE_ASSIGN(made.queue_depth,
                  meter.gauge("queue_depth", "Sealed batches that no writer has taken yet.", {{"queue", "sealed"}}));
  MILLRACE_ASSIGN(Gauge limit,
                  meter.gauge("queue_capacity_bytes", "Bytes that sealed batches of all sinks may hold together.",
                              {{"queue", "sealed"}}));
  limit.set(static_cast<double>(capacity));
  return made;
}

}  // namespace millrace
