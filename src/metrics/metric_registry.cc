// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <utility>
#include <variant>

#include "metrics/metric_name.h"
#include "metrics/prometheus_text.h"
#include "millrace/metrics/meter.h"

namespace millrace {
namespace {

using metrics::Kind;
using Handle = std::variant<Counter, Gauge, Histogram>;

struct Series {
  Labels labels;  // in the order of the claim, which is how they are shown
  Handle handle;
};
struct Family {
  Kind kind;
  std::string help;
  std::map<Labels, Series> series;  // by sorted labels: their order makes no new series
};

auto broken(std::string message) { return fail(Error::fatal(ErrorCode::rule_broken, std::move(message))); }

Result<void> check_bounds(std::string_view family, const std::vector<double>& bounds) {
  const bool rising = std::adjacent_find(bounds.begin(), bounds.end(), std::greater_equal<>()) == bounds.end();
  const bool finite = std::all_of(bounds.begin(), bounds.end(), [](double bound) { return std::isfinite(bound); });
  if (rising && finite) return {};
  return broken(
      fmt::format("histogram '{}': bucket bounds must be finite and rise strictly; the last bucket, +Inf, is "
                  "added to them",
                  family));
}

}  // namespace

struct MetricRegistry::State {
  explicit State(std::string prefix) : name_space(std::move(prefix)) {}

  const std::string name_space;
  Mutex mutex;
  std::map<std::string, Family, std::less<>> families MILLRACE_GUARDED_BY(mutex);

  template <class T>
  Result<T> claim(Kind kind, std::string_view family_name, std::string_view help, Labels labels, T handle) {
    MILLRACE_TRY(metrics::check_claim(name_space, family_name, help, kind, labels));
    const std::string name = fmt::format("{}_{}", name_space, family_name);
    Labels key = labels;
    std::sort(key.begin(), key.end());

    const MutexLock lock(mutex);
    MILLRACE_TRY(check_samples(name, kind));
    auto [found, made] = families.try_emplace(name, Family{kind, std::string(help), {}});
    Family& family = found->second;
    if (family.kind != kind) {
      return broken(fmt::format("metric family '{}' is a {} already and cannot be a {} as well", name,
                                metrics::to_string(family.kind), metrics::to_string(kind)));
    }
    if (family.help != help) {
      return broken(fmt::format("metric family '{}' has two help texts: '{}' and '{}'", name, family.help, help));
    }
    const auto [series, fresh] = family.series.try_emplace(std::move(key), Series{labels, handle});
    if (!fresh) {
      return broken(
          fmt::format("metric series {} has an owner already; give each pipeline and component of the process "
                      "a name of its own",
                      metrics::describe_series(name, labels)));
    }
    return handle;
  }

  // A histogram is read as three sample names beside its own; no other family may have one of them.
  Result<void> check_samples(const std::string& name, Kind kind) MILLRACE_REQUIRES(mutex) {
    for (const std::string_view suffix : std::array<std::string_view, 3>{"_bucket", "_sum", "_count"}) {
      if (kind == Kind::histogram && families.contains(name + std::string(suffix))) {
        return broken(
            fmt::format("histogram '{0}' also exports '{0}{1}', which is a family of its own already", name, suffix));
      }
      if (!name.ends_with(suffix)) continue;
      const auto base = families.find(std::string_view(name).substr(0, name.size() - suffix.size()));
      if (base != families.end() && base->second.kind == Kind::histogram) {
        return broken(fmt::format("metric family '{}' is exported by the histogram '{}' already", name, base->first));
      }
    }
    return {};
  }
};

MetricRegistry::MetricRegistry(std::string name_space) : state_(std::make_unique<State>(std::move(name_space))) {}
MetricRegistry::~MetricRegistry() = default;

Result<Counter> MetricRegistry::counter(std::string_view family, std::string_view help, Labels labels) {
  return state_->claim(Kind::counter, family, help, std::move(labels), Counter());
}

Result<Gauge> MetricRegistry::gauge(std::string_view family, std::string_view help, Labels labels) {
  return state_->claim(Kind::gauge, family, help, std::move(labels), Gauge());
}

Result<Histogram> MetricRegistry::histogram(std::string_view family, std::string_view help,
                                            std::vector<double> upper_bounds, Labels labels) {
  MILLRACE_TRY(check_bounds(family, upper_bounds));
  return state_->claim(Kind::histogram, family, help, std::move(labels), Histogram(std::move(upper_bounds)));
}

std::string MetricRegistry::to_prometheus_text() const {
  const MutexLock lock(state_->mutex);
  std::vector<metrics::FamilyView> views;
  views.reserve(state_->families.size());
  for (const auto& [name, family] : state_->families) {
    metrics::FamilyView& view = views.emplace_back(metrics::FamilyView{name, family.help, family.kind, {}});
    for (const auto& [key, series] : family.series) {
      view.series.push_back(
          {&series.labels, std::visit([](const auto& handle) { return decltype(metrics::SeriesView::handle)(&handle); },
                                      series.handle)});
    }
  }
  return metrics::to_prometheus_text(views);
}

}  // namespace millrace
