// SPDX-License-Identifier: Apache-2.0
#include "millrace/testing/manual_clock.h"

#include <algorithm>

namespace millrace::testing {

ManualClock::ManualClock(UnixMicros unix_start)
    : unix_start_(unix_start), start_(std::chrono::hours(1)), now_(start_) {}

SteadyTime ManualClock::now() const {
  const MutexLock lock(mutex_);
  return now_;
}

UnixMicros ManualClock::unix_micros() const {
  return unix_start_ + std::chrono::duration_cast<std::chrono::microseconds>(now() - start_).count();
}

// Two mutexes, the waiter's and this clock's, and never both: advance() notifies under the waiter's, so that it cannot
// fall between the waiter's last look at the time and its sleep; and the waiter leaves the list without its own, so
// that it can wait for an advance that is about to notify it.
void ManualClock::wait_until(CondVar& condition, Mutex& mutex, SteadyTime deadline) MILLRACE_NO_THREAD_SAFETY_ANALYSIS {
  Waiter self{&condition, &mutex};
  {
    const MutexLock lock(mutex_);
    if (now_ >= deadline) return;
    waiters_.push_back(&self);
    changed_.notify_all();
  }
  condition.wait(mutex);
  mutex.unlock();
  {
    const MutexLock lock(mutex_);
    while (self.pins != 0) changed_.wait(mutex_);
    std::erase(waiters_, &self);
    changed_.notify_all();
  }
  mutex.lock();
}

void ManualClock::advance(Duration by) {
  std::vector<Waiter*> pinned;
  {
    const MutexLock lock(mutex_);
    now_ += by;
    pinned = waiters_;
    for (Waiter* waiter : pinned) {
      ++waiter->pins;
      waiter->woken = true;
    }
  }
  for (Waiter* waiter : pinned) {
    {
      const MutexLock lock(*waiter->mutex);
      waiter->condition->notify_all();
    }
    const MutexLock lock(mutex_);
    --waiter->pins;
    changed_.notify_all();
  }
}

void ManualClock::wait_for_sleepers(std::size_t count) {
  const MutexLock lock(mutex_);
  const auto asleep = [](const Waiter* waiter) { return !waiter->woken; };
  while (static_cast<std::size_t>(std::ranges::count_if(waiters_, asleep)) < count) changed_.wait(mutex_);
}

}  // namespace millrace::testing
