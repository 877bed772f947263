// SPDX-License-Identifier: Apache-2.0
// DrainGate: tells the workers of a sink how long they may go on trying: for ever while the run goes on, until the
// drain deadline once it ends, not at all after that. The waits between two tries happen here, so that they can be cut
// short. Thread-safe.
#pragma once

#include <optional>

#include "millrace/base/sync.h"
#include "millrace/base/time.h"

namespace millrace {

class DrainGate {
 public:
  explicit DrainGate(Clock& clock) : clock_(&clock) {}

  /// From now on tries end at `deadline`; whoever waits for its next try makes it at once.
  void begin_drain(SteadyTime deadline);
  /// No more tries.
  void give_up();
  /// When tries end; SteadyTime::max() while the run goes on.
  [[nodiscard]] SteadyTime deadline() const;
  [[nodiscard]] bool given_up() const noexcept { return given_up_.load(memory_order_acquire); }

  /// Waits `delay` before the next try. `asked` is true when the other side named the delay, which is then not
  /// shortened to fit more tries in before a deadline. False when there is to be no further try.
  [[nodiscard]] bool wait(Duration delay, bool asked);

 private:
  Clock* const clock_;
  Atomic<bool> given_up_{false};
  mutable Mutex mutex_;
  CondVar changed_;
  std::optional<SteadyTime> deadline_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace
