// SPDX-License-Identifier: Apache-2.0
// LanePool: the pipeline threads of a run and who sits on which. Threads start when the first lane needs them; a lane
// goes to the thread with the fewest and stays there. Owned by the control thread.
#pragma once

#include <cstddef>
#include <memory>
#include <tuple>
#include <vector>

#include "millrace/sink/open_budget.h"
#include "pipeline/abandonable_thread.h"
#include "pipeline/lane_loop.h"
#include "sink/inflight_budget.h"

namespace millrace {

class LanePool {
 public:
  struct Options {
    std::size_t threads = 1;  ///< at most
    bool pin = false;         ///< each to a core of its own
    Duration poll_timeout{0};
    Clock* clock = &Clock::real();
    ThreadHost* host = &ThreadHost::real();
    std::shared_ptr<RunBoard> board;
    std::shared_ptr<InflightBudget> budget;                 ///< wakes the threads when there is room
    std::vector<std::shared_ptr<OpenBudget>> open_budgets;  ///< of the sinks that have one; wake the threads when over
    std::vector<std::shared_ptr<void>> keep_alive;          ///< lives as long as a thread, left behind or not
  };
  explicit LanePool(Options options) : options_(std::move(options)) {}
  ~LanePool() { std::ignore = quit(SteadyTime::max()); }
  LanePool(const LanePool&) = delete;
  LanePool& operator=(const LanePool&) = delete;

  /// The loop that the next lane belongs to; add()ed or not, it counts as one lane until release().
  [[nodiscard]] std::shared_ptr<LaneLoop> assign();
  void release(const std::shared_ptr<LaneLoop>& loop);
  /// The loop's thread does not come back from code of others: it gets no more lanes, and another may take its place.
  void write_off(const std::shared_ptr<LaneLoop>& loop);
  [[nodiscard]] std::size_t threads() const noexcept { return seats_.size(); }

  /// Ends the threads, which destroy the lanes they still have. How many did not come back by `deadline` and were left
  /// behind.
  [[nodiscard]] std::size_t quit(SteadyTime deadline);

 private:
  struct Seat {
    std::shared_ptr<LaneLoop> loop;
    AbandonableThread thread;
    std::size_t lanes = 0;
    bool written_off = false;
  };
  Seat& start_thread();

  const Options options_;
  std::vector<Seat> seats_;
};

/// How many threads the process may run at once, at least 1.
[[nodiscard]] std::size_t usable_cores();

}  // namespace millrace
