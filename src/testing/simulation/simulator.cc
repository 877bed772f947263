// SPDX-License-Identifier: Apache-2.0
#include "millrace/testing/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/testing/capture_sink.h"
#include "testing/simulation/own_world.h"
#include "testing/simulation/seams.h"

namespace millrace::testing {
namespace {

class Simulator {
 public:
  Simulator(Simulation world, std::uint64_t seed)
      : random_(seed), scheduler_(random_), world_(std::move(world)), watch_(report_, world_.durable) {
    report_.seed = seed;
  }

  /// What the simulator brings itself; null when the author brings it.
  std::unique_ptr<OwnTopic> topic;

  SeededRandom& random() { return random_; }

  SimulationReport run() {
    for (unsigned i = 0; i < world_.faults.runs && report_.kept() && !completed_; ++i) one_run(world_.faults);
    if (report_.kept() && !completed_) one_run({0, 0, 0, 0, 0, 0, 0, 0});
    if (report_.kept() && !completed_) {
      watch_.breaks("a run without faults completes", error_ ? error_->describe() : "it did not");
    }
    report_.steps = scheduler_.steps();
    return std::move(report_);
  }

 private:
  PipelineOptions options() {
    PipelineOptions options;
    options.name = "simulation";
    options.threads = 1 + random_.below(3);
    options.max_inflight_bytes = 600 + random_.below(4096);
    options.drain_timeout = std::chrono::seconds(5 + 20 * random_.below(2));
    options.max_poll_records = 1 + random_.below(8);
    options.checkpoint_interval = std::chrono::milliseconds(100 + random_.below(2000));
    options.max_pending_batches = 1 + random_.below(16);
    return options;
  }

  void one_run(SimulationFaults faults) {
    ++report_.runs;
    watch_.note(fmt::format("run {} begins", report_.runs));
    watch_.begin_run();
    auto run = std::make_shared<SimulatedRun>(
        SimulatedRun{.scheduler = scheduler_, .random = random_, .watch = watch_, .report = report_, .faults = faults});
    run->rebalance = world_.rebalance;
    run->rebalances_left = faults.rebalances == 0 ? 0 : random_.below(4);
    auto metrics = std::make_shared<MetricRegistry>();
    RunReport ended;
    const std::string stuck = scheduler_.run([&] { ended = pipeline_run(run, metrics); });
    // Its pipeline is gone, and what it leaves behind finds it dead.
    run->dead = run->dead || !stuck.empty();
    if (!stuck.empty()) return watch_.breaks("a run ends", stuck);
    judge(*run, ended);
    if (!run->dead) check_gauges(metrics->to_prometheus_text());
  }

  RunReport pipeline_run(const std::shared_ptr<SimulatedRun>& run, std::shared_ptr<MetricRegistry> metrics) {
    Pipeline pipeline(options());
    pipeline.clock(scheduler_).random(random_).threads(scheduler_).metrics(std::move(metrics));
    const StopHandle stop = pipeline.stop_handle();
    run->stop = [stop] { stop.request(); };
    if (world_.chain) {
      pipeline.chain_factory(world_.chain);
    } else {
      pipeline.chain([](const ChainContext&) { return decode::raw() | encode::raw(); });
    }
    Result<std::unique_ptr<Sink>> sink = world_.sink();
    if (sink) sink = simulated_sink(run, *std::move(sink));
    Result<std::unique_ptr<Source>> source = topic ? topic->source(*run, random_) : world_.source();
    if (source) source = simulated_source(run, *std::move(source));
    return pipeline.sink(std::move(sink)).run(std::move(source));
  }

  void judge(const SimulatedRun& run, const RunReport& ended) {
    error_ = ended.error;
    watch_.note(fmt::format("run {} ends: {}", report_.runs, ended.error ? ended.error->describe() : "no error"));
    if (run.dead) return;
    const bool completes = ended.state == ExitState::completed || ended.state == ExitState::completed_with_errors;
    if (completes) {
      completed_ = true;
      if (topic) watch_.keeps(topic->committed());
      watch_.completed(world_.expected, world_.exactly_once);
      if (ended.records_unacknowledged != 0) {
        watch_.breaks("Completed says that nothing is unacknowledged", std::to_string(ended.records_unacknowledged));
      }
    } else if (!run.stopped) {
      watch_.breaks("faults that pass do not end a run",
                    ended.error ? ended.error->describe() : "it stopped by itself");
    }
  }

  // All that a run holds at one time is gone with it.
  void check_gauges(const std::string& text) {
    for (const std::string_view gauge :
         {"lanes_active", "paused", "inflight_bytes", "inflight_batches", "queue_depth"}) {
      for (std::size_t at = 0; (at = text.find(gauge, at)) != std::string::npos; ++at) {
        const std::size_t line = text.rfind('\n', at) + 1;
        const std::string_view row = std::string_view(text).substr(line, text.find('\n', at) - line);
        if (row.starts_with('#') || row.find("limit") != std::string_view::npos ||
            row.find("_bucket") != std::string_view::npos)
          continue;
        const std::string_view name = row.substr(0, row.find('{'));
        if (!name.ends_with(gauge) || row.ends_with(" 0")) continue;
        watch_.breaks("gauges are zero after a run", std::string(row));
      }
    }
  }

  SimulationReport report_;
  SeededRandom random_;
  Scheduler scheduler_;
  Simulation world_;
  Watch watch_;
  bool completed_ = false;
  std::optional<Error> error_;
};

std::optional<std::uint64_t> number_in_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

}  // namespace

SimulationReport simulate(const std::function<Simulation()>& world, std::uint64_t seed) {
  Simulation given = world();
  SeededRandom shape(seed);
  std::unique_ptr<OwnTopic> topic;
  if (!given.source) {
    topic = std::make_unique<OwnTopic>(shape);
    given.expected = topic->records();
    given.rebalance = [own = topic.get()] { own->rebalance(); };
  }
  if (!given.sink) own_sink(shape, given);
  if (given.sink && !given.durable) {
    SimulationReport report;
    report.seed = seed;
    report.broken.emplace_back("a simulation with a sink says what is durable: set Simulation::durable");
    return report;
  }
  Simulator simulator(std::move(given), seed);
  simulator.topic = std::move(topic);
  return simulator.run();
}

std::vector<std::uint64_t> simulation_seeds(std::uint64_t count) {
  if (const auto one = number_in_environment("MILLRACE_SIMULATION_SEED")) return {*one};
  const std::uint64_t many = number_in_environment("MILLRACE_SIMULATION_SEEDS").value_or(count);
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 1; seed <= many; ++seed) seeds.push_back(seed);
  return seeds;
}

std::string SimulationReport::to_text() const {
  std::string text =
      fmt::format("seed {}: {} runs, {} kills, {} stops, {} rebalances, {} writes, {} commits, {} faults, {} steps\n",
                  seed, runs, kills, stops, rebalances, writes, commits, faults, steps);
  for (const std::string& one : broken) text += "broken: " + one + "\n";
  if (broken.empty()) return text;
  text += "the last that happened:\n";
  for (const std::string& one : trace) text += "  " + one + "\n";
  return text + fmt::format("to see it again: MILLRACE_SIMULATION_SEED={} and the same test\n", seed);
}

}  // namespace millrace::testing
