// SPDX-License-Identifier: Apache-2.0
#include "pipeline/lane_metrics.h"

#include <string>

#include "pipeline/metric_buckets.h"

namespace millrace {

void ReasonCounters::add(ErrorCode reason, std::uint64_t count) {
  const MutexLock lock(mutex_);
  std::optional<Counter>& counter = counters_.at(static_cast<std::size_t>(reason));
  if (!counter) {
    // Refused only when somebody else has claimed the series; the count is in the run's report all the same.
    counter = meter_.counter(family_, help_, {{"reason", std::string(to_string(reason))}}).value_or(Counter());
  }
  counter->add(count);
}

Result<LaneMetrics> LaneMetrics::make(const Meter& source, const Meter& chain) {
  LaneMetrics made;
  MILLRACE_ASSIGN(made.records, source.counter("source_records_total", "Payloads polled from the source's lanes."));
  MILLRACE_ASSIGN(made.bytes, source.counter("source_bytes_total", "Bytes of the payloads polled."));
  MILLRACE_ASSIGN(made.poll_seconds,
                  source.histogram("source_poll_duration_seconds", "One poll of a lane.", cpu_seconds()));
  MILLRACE_ASSIGN(made.lanes_active, source.gauge("source_lanes_active", "Lanes that are assigned and not exhausted."));
  MILLRACE_ASSIGN(made.lanes_assigned,
                  source.counter("source_rebalances_total", "Lanes given and taken.", {{"event", "assigned"}}));
  MILLRACE_ASSIGN(made.lanes_revoked,
                  source.counter("source_rebalances_total", "Lanes given and taken.", {{"event", "revoked"}}));
  MILLRACE_ASSIGN(made.decoded,
                  chain.counter("deser_records_total", "Records by how decoding them ended.", {{"outcome", "ok"}}));
  MILLRACE_ASSIGN(made.skipped, chain.counter("deser_records_total", "Records by how decoding them ended.",
                                              {{"outcome", "skipped"}}));
  MILLRACE_ASSIGN(made.dead_lettered, chain.counter("deser_records_total", "Records by how decoding them ended.",
                                                    {{"outcome", "dead_lettered"}}));
  made.kept_by_reason = std::make_shared<ReasonCounters>(chain, "deser_records_dead_lettered_total",
                                                         "Records handed to the sink of the dead letters, by reason.");
  made.dropped_by_reason = std::make_shared<ReasonCounters>(chain, "deser_records_dropped_total",
                                                            "Records skipped on the operator's word, by reason.");
  made.fallbacks_by_reason = std::make_shared<ReasonCounters>(
      chain, "operator_route_fallbacks_total", "Values that records lacked and null_fallback stands for, by reason.");
  MILLRACE_ASSIGN(made.batch_seconds, chain.histogram("deser_batch_duration_seconds",
                                                      "A batch's way from payloads to encoded bytes.", cpu_seconds()));
  MILLRACE_ASSIGN(made.operator_in, chain.counter("operator_records_in_total", "Records that entered the operators."));
  MILLRACE_ASSIGN(made.operator_out, chain.counter("operator_records_out_total", "Records encoded, over all sinks."));
  MILLRACE_ASSIGN(made.filtered, chain.counter("operator_records_dropped_total", "Records an operator dropped.",
                                               {{"reason", "filtered"}}));
  return made;
}

void LaneMetrics::add(const ChainCounts& counts, Duration took) {
  records.add(counts.records_in);
  bytes.add(counts.payload_bytes);
  decoded.add(counts.records_decoded);
  operator_in.add(counts.records_decoded);
  operator_out.add(counts.records_out);
  filtered.add(counts.filtered);
  for (const auto& [reason, count] : counts.skipped) {
    skipped.add(count);
    dropped_by_reason->add(reason, count);
  }
  for (const auto& [reason, count] : counts.dead_lettered) {
    dead_lettered.add(count);
    kept_by_reason->add(reason, count);
  }
  for (const auto& [reason, count] : counts.fallbacks) fallbacks_by_reason->add(reason, count);
  batch_seconds.observe(seconds(took));
}

}  // namespace millrace
