// SPDX-License-Identifier: Apache-2.0
// Renders families of series as Prometheus text. The one place that knows prometheus-cpp.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "metrics/metric_name.h"
#include "millrace/metrics/meter.h"

namespace millrace::metrics {

struct SeriesView {
  const Labels* labels;
  std::variant<const Counter*, const Gauge*, const Histogram*> handle;
};
struct FamilyView {
  std::string_view name;
  std::string_view help;
  Kind kind;
  std::vector<SeriesView> series;
};

/// Exposition format 0.0.4, in the order given. Reads each handle once, relaxed: a scrape is no snapshot across series.
[[nodiscard]] std::string to_prometheus_text(const std::vector<FamilyView>& families);

}  // namespace millrace::metrics
