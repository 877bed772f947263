// SPDX-License-Identifier: Apache-2.0
// Metric handles of the data plane (etl_source_*, etl_deser_*, etl_operator_*): made when the pipeline is built, shared
// by its lanes, touched once per batch (INV-8). Thread-safe.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "millrace/metrics/meter.h"
#include "millrace/pipeline/chain.h"

namespace millrace {

/// One counter per reason, claimed when the reason is first met, so that the reasons that never come are no series.
class ReasonCounters {
 public:
  ReasonCounters(Meter meter, std::string family, std::string help)
      : meter_(std::move(meter)), family_(std::move(family)), help_(std::move(help)) {}
  void add(ErrorCode reason, std::uint64_t count);

 private:
  const Meter meter_;
  const std::string family_, help_;
  Mutex mutex_;
  std::array<std::optional<Counter>, kErrorCodes> counters_ MILLRACE_GUARDED_BY(mutex_);
};

struct LaneMetrics {
  static Result<LaneMetrics> make(const Meter& source, const Meter& chain);
  /// What a chain did to (part of) a batch.
  void add(const ChainCounts& counts, Duration took);

  Counter records, bytes;
  Histogram poll_seconds;
  Gauge lanes_active;
  Counter lanes_assigned, lanes_revoked;

  Counter decoded, skipped, dead_lettered;
  std::shared_ptr<ReasonCounters> dropped_by_reason, kept_by_reason;
  Histogram batch_seconds;

  std::shared_ptr<ReasonCounters> fallbacks_by_reason;
  Counter operator_in, operator_out, filtered;
};

}  // namespace millrace
