// SPDX-License-Identifier: Apache-2.0
// DelayLine: does things later, on one thread of its own, by a clock that a test may own. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "millrace/base/sync.h"
#include "millrace/base/time.h"

namespace millrace::testing {

class DelayLine {
 public:
  /// Runs once, on the line's thread; true when it was cancelled rather than due.
  using Task = std::move_only_function<void(bool cancelled)>;
  using Ticket = std::uint64_t;
  /// Only hurry() and cancelling end it.
  static constexpr Duration kNever = std::chrono::hours(24 * 365);

  explicit DelayLine(Clock& clock);
  /// Cancels what is left.
  ~DelayLine();
  DelayLine(const DelayLine&) = delete;
  DelayLine& operator=(const DelayLine&) = delete;

  Ticket after(Duration delay, Task task);
  /// Blocks the caller. False when cancel_all() came first.
  [[nodiscard]] bool wait(Duration delay);
  /// What waits now is due now.
  void hurry();
  void cancel(Ticket ticket);
  /// Ends everything that waits now and from now on.
  void cancel_all();

 private:
  void run();

  Clock& clock_;
  Mutex mutex_;
  CondVar changed_;
  std::map<std::pair<SteadyTime, Ticket>, Task> waiting_ MILLRACE_GUARDED_BY(mutex_);
  std::vector<Task> due_ MILLRACE_GUARDED_BY(mutex_);
  std::vector<Task> cancelled_ MILLRACE_GUARDED_BY(mutex_);
  Ticket next_ MILLRACE_GUARDED_BY(mutex_) = 1;
  std::uint64_t hurries_ MILLRACE_GUARDED_BY(mutex_) = 0;
  bool all_cancelled_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool ending_ MILLRACE_GUARDED_BY(mutex_) = false;
  Thread thread_;  // last: it uses everything above
};

}  // namespace millrace::testing
