// SPDX-License-Identifier: Apache-2.0
// ManualClock: time that moves only when told to, so that a test of minutes takes none and nothing depends on how fast
// the machine is. Thread-safe. Outlives whoever waits on it.
#pragma once

#include <cstddef>
#include <vector>

#include "millrace/base/time.h"

#pragma GCC visibility push(default)
namespace millrace::testing {

class ManualClock final : public Clock {
 public:
  /// Starts away from zero, so that "never" and "at the start" differ.
  explicit ManualClock(UnixMicros unix_start = 1'700'000'000'000'000);

  [[nodiscard]] SteadyTime now() const override;
  [[nodiscard]] UnixMicros unix_micros() const override;
  void wait_until(CondVar& condition, Mutex& mutex, SteadyTime deadline) override MILLRACE_REQUIRES(mutex);

  /// Moves on and wakes everybody who waits, so that they look at the time again. Not with a mutex held on which
  /// somebody waits.
  void advance(Duration by);
  /// Waits (in real time) until at least `count` threads wait on this clock and have not been woken by an advance
  /// since; then they have nothing to do until it moves or something else wakes them.
  void wait_for_sleepers(std::size_t count);

 private:
  struct Waiter {
    CondVar* condition;
    Mutex* mutex;
    int pins = 0;        ///< advances that are about to notify it: it stays until they are through
    bool woken = false;  ///< by an advance: no sleeper any more
  };
  const UnixMicros unix_start_;
  const SteadyTime start_;
  mutable Mutex mutex_;
  CondVar changed_;
  SteadyTime now_ MILLRACE_GUARDED_BY(mutex_);
  std::vector<Waiter*> waiters_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::testing
#pragma GCC visibility pop
