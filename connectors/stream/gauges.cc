// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "millrace/connectors/stream.h"

namespace millrace {
namespace {

void set_if_known(Gauge& gauge, std::int64_t value) {
  if (value >= 0) gauge.set(static_cast<double>(value));
}

}  // namespace

Result<StreamGauges> StreamGauges::make(Meter meter, std::string connector, bool per_partition) {
  StreamGauges gauges;
  MILLRACE_ASSIGN(gauges.total_lag_, meter.gauge(connector + "_lag_records",
                                                 "Records of the assigned partitions from the committed position to "
                                                 "the end."));
  MILLRACE_ASSIGN(gauges.assigned_,
                  meter.gauge(connector + "_assigned_partitions", "Partitions that this process reads now."));
  gauges.meter_ = std::move(meter);
  gauges.connector_ = std::move(connector);
  gauges.per_partition_ = per_partition;
  return gauges;
}

void StreamGauges::set(std::string_view topic, std::int64_t partition, const StreamPositions& positions) {
  const Name name(topic, partition);
  std::int64_t& lag = lags_[name];
  lag_ += positions.lag() - lag;
  lag = positions.lag();
  publish();
  Series* const of = series(name);
  if (of == nullptr) return;
  of->lag.set(static_cast<double>(lag));
  set_if_known(of->end, positions.end);
  set_if_known(of->fetched, positions.fetched);
  set_if_known(of->durable, positions.durable);
  set_if_known(of->committed, positions.committed);
}

void StreamGauges::forget(std::string_view topic, std::int64_t partition) {
  const auto found = lags_.find(Name(topic, partition));
  if (found == lags_.end()) return;
  lag_ -= found->second;
  if (Series* const of = series(found->first)) {
    for (Gauge* gauge : {&of->lag, &of->end, &of->fetched, &of->durable, &of->committed}) {
      gauge->set(std::numeric_limits<double>::quiet_NaN());
    }
  }
  lags_.erase(found);
  publish();
}

void StreamGauges::publish() {
  total_lag_.set(static_cast<double>(lag_));
  assigned_.set(static_cast<double>(lags_.size()));
}

StreamGauges::Series* StreamGauges::series(const Name& name) {
  if (!per_partition_) return nullptr;
  const auto [at, is_new] = series_.try_emplace(name);
  if (is_new) {
    const Labels labels{{"topic", name.first}, {"partition", std::to_string(name.second)}};
    const auto gauge = [&](std::string_view what, std::string_view help) {
      // A claim that fails leaves a gauge that nobody reads: metrics never stop a run that is under way.
      return meter_.gauge(connector_ + "_partition_" + std::string(what), help, labels).value_or(Gauge());
    };
    at->second = {gauge("lag_records", "Records from the committed position to the partition's end."),
                  gauge("end_offset", "One past the partition's last record, at the broker."),
                  gauge("fetched_offset", "One past the last record handed to the pipeline."),
                  gauge("durable_offset", "One past the last record that is durable in every sink."),
                  gauge("committed_offset", "The position that the broker keeps for this group.")};
  }
  return &at->second;
}

}  // namespace millrace
