// SPDX-License-Identifier: Apache-2.0
// The seams of a simulated run: a source and a sink around those that are simulated. Each call is a step at which
// another thread may go on, the run may be killed, and a fault may happen. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/pipeline/stop_handle.h"
#include "millrace/sink/sink.h"
#include "millrace/source/source.h"
#include "millrace/testing/memory_source.h"
#include "testing/simulation/scheduler.h"
#include "testing/simulation/watch.h"

namespace millrace::testing {

/// One run's dice. Shared by its seams; a seam that was left behind finds it dead.
struct SimulatedRun {
  Scheduler& scheduler;
  SeededRandom& random;
  Watch& watch;
  SimulationReport& report;
  SimulationFaults faults;
  std::function<void()> stop;       ///< asks the run to stop
  std::function<void()> rebalance;  ///< null: lanes are never taken away
  bool dead = false;
  bool stopped = false;
  std::uint64_t rebalances_left = 0;
  bool holds_finished = false;  ///< the source may be asked for events after Finished

  [[nodiscard]] bool happens(unsigned of_a_thousand) { return random.below(1000) < of_a_thousand; }
  /// True when the run is alive after it.
  [[nodiscard]] bool step(std::string_view where);
  [[nodiscard]] static Error killed();
  /// Counts and notes.
  [[nodiscard]] Error refused(std::string_view what);
};

[[nodiscard]] std::unique_ptr<Source> simulated_source(std::shared_ptr<SimulatedRun> run,
                                                       std::unique_ptr<Source> inner);
[[nodiscard]] std::unique_ptr<Sink> simulated_sink(std::shared_ptr<SimulatedRun> run, std::unique_ptr<Sink> inner);

}  // namespace millrace::testing
