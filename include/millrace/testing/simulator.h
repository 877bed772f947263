// SPDX-License-Identifier: Apache-2.0
// The simulator: whole runs of a pipeline, the engine's own loops, on one thread under a seed, in time that moves only
// when nothing else can. Faults come at every seam: writes are refused, slow, or done while their answer is lost;
// commits fail; lanes are taken away and given back; runs are stopped, and killed at any step and started again. Then
// checkers say whether what a pipeline promises was kept.
//
//   const SimulationReport report = simulate([] { return Simulation{.sink = ..., .durable = ...}; }, seed);
//   EXPECT_TRUE(report.kept()) << report.to_text();
//
// What is simulated waits on the clock of its SourceContext or SinkContext alone, and starts no thread. A kill is that
// nothing is asked of the connector any more; then it is destroyed, so a destructor must make nothing durable.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "millrace/pipeline/pipeline.h"

#pragma GCC visibility push(default)
namespace millrace::testing {

/// How often in a thousand calls.
struct SimulationFaults {
  unsigned refused_writes = 100;
  unsigned lost_answers = 50;  ///< the write is done, and says that it is not
  unsigned slow_writes = 100;
  unsigned refused_commits = 100;
  unsigned rebalances = 20;  ///< of the polls for events
  unsigned stops = 5;        ///< of the steps at a seam, as a person or an orchestrator stops a run
  unsigned kills = 10;       ///< of the steps at a seam
  unsigned runs = 6;         ///< no number of a thousand: with faults, before the one without, which must complete
};

/// What lies outside the runs and outlives them, and how they see it. Records are told apart by what the sink gets of
/// them: no two are alike.
struct Simulation {
  /// One run's source. Nothing: partitions in memory, and rebalances.
  std::function<Result<std::unique_ptr<Source>>()> source{};
  /// With `source`, which must end by itself: every record as the sink gets it.
  std::vector<std::string> expected{};
  /// With `source`, if it can: the outside takes its lanes away and gives them back.
  std::function<void()> rebalance{};
  /// One run's sink. Nothing: lines in memory.
  std::function<Result<std::unique_ptr<Sink>>()> sink{};
  /// With `sink`: the records that would be there if the machine lost power now.
  std::function<std::vector<std::string>()> durable{};
  /// Whether a record may be there once only.
  bool exactly_once = false;
  /// Nothing: payloads as they are, a line feed behind each. Must leave records as they are.
  ChainFactory chain{};
  SimulationFaults faults{};
};

struct SimulationReport {
  std::uint64_t seed = 0;
  std::vector<std::string> broken;  ///< promises, each with what was seen; empty: all kept
  std::vector<std::string> trace;   ///< what happened at the seams, the last of it
  std::uint64_t runs = 0, kills = 0, stops = 0, rebalances = 0, writes = 0, faults = 0, commits = 0, steps = 0;

  [[nodiscard]] bool kept() const noexcept { return broken.empty(); }
  /// The seed, what was broken, the end of the trace, and how to see it again.
  [[nodiscard]] std::string to_text() const;
};

/// One seed: `world` makes what lies outside, afresh. The same seed does the same on every machine, as long as what is
/// simulated does.
[[nodiscard]] SimulationReport simulate(const std::function<Simulation()>& world, std::uint64_t seed);

/// 1 to `count`; or as many as MILLRACE_SIMULATION_SEEDS says; or only the one that MILLRACE_SIMULATION_SEED names,
/// which is how a failure is seen again.
[[nodiscard]] std::vector<std::uint64_t> simulation_seeds(std::uint64_t count);

}  // namespace millrace::testing
#pragma GCC visibility pop
