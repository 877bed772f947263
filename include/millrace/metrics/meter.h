// SPDX-License-Identifier: Apache-2.0
// Meter: makes metric handles when a pipeline is built; handles are touched once per batch, without a lock (INV-8). A
// series has one owner: a second claim is an error (INV-10). Names: `<namespace>_<family>`, counters end in _total,
// units in the name.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/base/sync.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Monotonic count. A default-made handle counts for nobody. Thread-safe, relaxed.
class Counter {
 public:
  Counter() : cell_(std::make_shared<Atomic<std::uint64_t>>(0)) {}
  void add(std::uint64_t count = 1) noexcept { cell_->fetch_add(count, memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const noexcept { return cell_->load(memory_order_relaxed); }

 private:
  friend class MetricRegistry;
  std::shared_ptr<Atomic<std::uint64_t>> cell_;
};

/// A value that goes up and down. Thread-safe, relaxed.
class Gauge {
 public:
  Gauge() : cell_(std::make_shared<Atomic<double>>(0.0)) {}
  void set(double value) noexcept { cell_->store(value, memory_order_relaxed); }
  void add(double delta) noexcept { cell_->fetch_add(delta, memory_order_relaxed); }
  [[nodiscard]] double value() const noexcept { return cell_->load(memory_order_relaxed); }

 private:
  friend class MetricRegistry;
  std::shared_ptr<Atomic<double>> cell_;
};

/// Durations or sizes in fixed buckets. Thread-safe, relaxed.
class Histogram {
 public:
  Histogram() : Histogram(std::vector<double>{}) {}
  explicit Histogram(std::vector<double> upper_bounds);
  void observe(double value) noexcept;
  struct Cells {
    std::vector<double> upper_bounds;
    std::vector<Atomic<std::uint64_t>> counts;  ///< one more than upper_bounds
    Atomic<double> sum{0.0};
  };
  [[nodiscard]] const Cells& cells() const noexcept { return *cells_; }

 private:
  friend class MetricRegistry;
  std::shared_ptr<Cells> cells_;
};

using Labels = std::vector<std::pair<std::string, std::string>>;
class MetricRegistry;

/// A component's way to its metrics: the registry with the standard labels (pipeline, component, component_type) filled
/// in. Copyable. A default-made one hands out working handles that nobody reads.
class Meter {
 public:
  Meter() = default;
  Meter(std::shared_ptr<MetricRegistry> registry, Labels labels)
      : registry_(std::move(registry)), labels_(std::move(labels)) {}

  /// `family` without the namespace: "source_records_total". `help` is one sentence.
  [[nodiscard]] Result<Counter> counter(std::string_view family, std::string_view help, Labels extra = {}) const;
  [[nodiscard]] Result<Gauge> gauge(std::string_view family, std::string_view help, Labels extra = {}) const;
  [[nodiscard]] Result<Histogram> histogram(std::string_view family, std::string_view help,
                                            std::vector<double> upper_bounds, Labels extra = {}) const;
  /// The same registry and pipeline with another component.
  [[nodiscard]] Meter with_component(std::string component, std::string component_type) const;

 private:
  std::shared_ptr<MetricRegistry> registry_;
  Labels labels_;
};

/// All series of a process. Thread-safe. Series live as long as the registry.
class MetricRegistry {
 public:
  explicit MetricRegistry(std::string name_space = "etl");
  ~MetricRegistry();
  MetricRegistry(const MetricRegistry&) = delete;
  MetricRegistry& operator=(const MetricRegistry&) = delete;

  /// Fails with rule_broken when the series exists, its family has another type or help, or the name is malformed.
  [[nodiscard]] Result<Counter> counter(std::string_view family, std::string_view help, Labels labels);
  [[nodiscard]] Result<Gauge> gauge(std::string_view family, std::string_view help, Labels labels);
  [[nodiscard]] Result<Histogram> histogram(std::string_view family, std::string_view help,
                                            std::vector<double> upper_bounds, Labels labels);
  /// Prometheus text exposition format 0.0.4.
  [[nodiscard]] std::string to_prometheus_text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace millrace
#pragma GCC visibility pop
