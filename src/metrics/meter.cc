// SPDX-License-Identifier: Apache-2.0
#include "millrace/metrics/meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace millrace {
namespace {

Labels joined(const Labels& standard, Labels extra) {
  Labels all = standard;
  for (auto& label : extra) all.push_back(std::move(label));
  return all;
}

}  // namespace

Histogram::Histogram(std::vector<double> upper_bounds) : cells_(std::make_shared<Cells>()) {
  cells_->counts = std::vector<Atomic<std::uint64_t>>(upper_bounds.size() + 1);
  cells_->upper_bounds = std::move(upper_bounds);
}

void Histogram::observe(double value) noexcept {
  const auto& bounds = cells_->upper_bounds;
  // Not less than: Prometheus buckets are "less or equal". NaN compares false with every bound and lands in +Inf.
  const auto bucket = std::find_if(bounds.begin(), bounds.end(), [&](double bound) { return value <= bound; });
  cells_->counts[static_cast<std::size_t>(bucket - bounds.begin())].fetch_add(1, memory_order_relaxed);
  cells_->sum.fetch_add(value, memory_order_relaxed);
}

Result<Counter> Meter::counter(std::string_view family, std::string_view help, Labels extra) const {
  if (!registry_) return Counter();
  return registry_->counter(family, help, joined(labels_, std::move(extra)));
}

Result<Gauge> Meter::gauge(std::string_view family, std::string_view help, Labels extra) const {
  if (!registry_) return Gauge();
  return registry_->gauge(family, help, joined(labels_, std::move(extra)));
}

Result<Histogram> Meter::histogram(std::string_view family, std::string_view help, std::vector<double> upper_bounds,
                                   Labels extra) const {
  if (!registry_) return Histogram(std::move(upper_bounds));
  return registry_->histogram(family, help, std::move(upper_bounds), joined(labels_, std::move(extra)));
}

Meter Meter::with_component(std::string component, std::string component_type) const {
  Meter other = *this;
  std::erase_if(other.labels_,
                [](const auto& label) { return label.first == "component" || label.first == "component_type"; });
  other.labels_.emplace_back("component", std::move(component));
  other.labels_.emplace_back("component_type", std::move(component_type));
  return other;
}

}  // namespace millrace
