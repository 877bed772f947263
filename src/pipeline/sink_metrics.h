// SPDX-License-Identifier: Apache-2.0
// Metric handles of one sink (etl_sink_*, etl_queue_*, etl_e2e_*): made when the pipeline is built, touched once per
// batch (INV-8). Thread-safe.
#pragma once

#include <array>
#include <cstddef>

#include "millrace/base/error.h"
#include "millrace/metrics/meter.h"
#include "millrace/sink/sealed_batch.h"

namespace millrace {

struct SinkMetrics {
  /// `meter` carries the sink's component; `capacity` is the budget its queue shares.
  static Result<SinkMetrics> make(const Meter& meter, std::size_t capacity);

  static constexpr std::size_t kReasons = static_cast<std::size_t>(SealReason::pressure) + 1;
  static constexpr std::size_t kClasses = static_cast<std::size_t>(ErrorClass::fatal) + 1;

  Counter records, bytes, retries, abandoned, dropped, drain_overruns;
  std::array<Counter, kReasons> flushes;
  std::array<Counter, kClasses> errors;
  Gauge inflight_batches, queue_depth;
  Histogram batch_records, batch_bytes, flush_seconds, write_ok_seconds, write_error_seconds, backoff_seconds;
  Histogram latency_seconds;
};

}  // namespace millrace
