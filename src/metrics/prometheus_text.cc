// SPDX-License-Identifier: Apache-2.0
#include "metrics/prometheus_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <utility>

namespace millrace::metrics {
namespace {

void fill(prometheus::ClientMetric& to, const Counter& from) { to.counter.value = static_cast<double>(from.value()); }
void fill(prometheus::ClientMetric& to, const Gauge& from) { to.gauge.value = from.value(); }
void fill(prometheus::ClientMetric& to, const Histogram& from) {
  const Histogram::Cells& cells = from.cells();
  // The count is the sum of the buckets just read, so that the text is consistent while others observe.
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < cells.counts.size(); ++i) {
    count += cells.counts[i].load(memory_order_relaxed);
    const double bound =
        i < cells.upper_bounds.size() ? cells.upper_bounds[i] : std::numeric_limits<double>::infinity();
    to.histogram.bucket.push_back({count, bound});
  }
  to.histogram.sample_count = count;
  to.histogram.sample_sum = cells.sum.load(memory_order_relaxed);
}

// The format wants these two escaped; the serializer writes help as it stands.
std::string escaped_help(std::string_view help) {
  std::string text;
  for (const char c : help) {
    if (c == '\\') {
      text += "\\\\";
    } else if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text;
}

prometheus::MetricType type_of(Kind kind) {
  switch (kind) {
    case Kind::counter:
      return prometheus::MetricType::Counter;
    case Kind::gauge:
      return prometheus::MetricType::Gauge;
    case Kind::histogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

}  // namespace

std::string to_prometheus_text(const std::vector<FamilyView>& families) {
  std::vector<prometheus::MetricFamily> converted;
  converted.reserve(families.size());
  for (const FamilyView& family : families) {
    prometheus::MetricFamily& to = converted.emplace_back();
    to.name = family.name;
    to.help = escaped_help(family.help);
    to.type = type_of(family.kind);
    for (const SeriesView& series : family.series) {
      prometheus::ClientMetric& metric = to.metric.emplace_back();
      for (const auto& [name, value] : *series.labels) metric.label.push_back({name, value});
      std::visit([&](const auto* handle) { fill(metric, *handle); }, series.handle);
    }
  }
  return prometheus::TextSerializer().Serialize(converted);
}

}  // namespace millrace::metrics
