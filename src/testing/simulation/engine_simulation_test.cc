// SPDX-License-Identifier: Apache-2.0
// Goal: the engine keeps its promises whatever happens at its seams. Method: the simulator's own source and sink, under
// fixed seeds; `./dev soak simulation` takes more of them.
#include <gtest/gtest.h>

#include "millrace/testing/simulator.h"

namespace millrace::testing {
namespace {

TEST(EngineSimulation, KeepsItsPromises) {
  for (const std::uint64_t seed : simulation_seeds(60)) {
    const SimulationReport report = simulate([] { return Simulation(); }, seed);
    ASSERT_TRUE(report.kept()) << report.to_text();
  }
}

// Else nothing above says much.
TEST(EngineSimulation, HasFaultsOfEveryKind) {
  SimulationReport all;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const SimulationReport report = simulate([] { return Simulation(); }, seed);
    all.kills += report.kills;
    all.stops += report.stops;
    all.rebalances += report.rebalances;
    all.faults += report.faults;
    all.commits += report.commits;
  }
  EXPECT_GT(all.kills, 10U);
  EXPECT_GT(all.stops, 3U);
  EXPECT_GT(all.rebalances, 3U);
  EXPECT_GT(all.faults, 20U);
  EXPECT_GT(all.commits, 20U);
}

TEST(EngineSimulation, TheSameSeedDoesTheSame) {
  const auto once = [] { return simulate([] { return Simulation(); }, 7); };
  const SimulationReport first = once();
  const SimulationReport second = once();
  EXPECT_EQ(first.steps, second.steps);
  EXPECT_EQ(first.trace, second.trace);
}

}  // namespace
}  // namespace millrace::testing
