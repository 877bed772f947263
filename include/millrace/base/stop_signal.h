// SPDX-License-Identifier: Apache-2.0
// StopSignal: tells threads to end, also while they wait for the next try. Any thread.
#pragma once

#include "millrace/base/sync.h"
#include "millrace/base/time.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Asked for once; it stays asked for.
class StopSignal {
 public:
  void request() {
    const MutexLock lock(mutex_);
    requested_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] bool requested() const {
    const MutexLock lock(mutex_);
    return requested_;
  }
  /// Waits `delay` on `clock`; true when the stop came first.
  [[nodiscard]] bool wait(Clock& clock, Duration delay) {
    const SteadyTime deadline = clock.now() + delay;
    const MutexLock lock(mutex_);
    while (!requested_ && clock.now() < deadline) clock.wait_until(changed_, mutex_, deadline);
    return requested_;
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  bool requested_ MILLRACE_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace
#pragma GCC visibility pop
