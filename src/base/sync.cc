// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/sync.h"

#include <utility>

#include "millrace/base/time.h"

namespace millrace {

Thread& Thread::operator=(Thread&& other) noexcept {
  if (thread_.joinable()) thread_.join();
  thread_ = std::move(other.thread_);
  return *this;
}

Thread::~Thread() {
  if (thread_.joinable()) thread_.join();
}

void Thread::join() {
  if (thread_.joinable()) thread_.join();
}

void EventCount::signal() noexcept {
  signals_.fetch_add(1, std::memory_order_seq_cst);
  // A sleeper counts itself before it looks at signals_, so either it sees this signal or this sees the sleeper.
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  {
    const MutexLock lock(mutex_);
  }
  condition_.notify_all();
}

bool EventCount::wait_until(Ticket ticket, Clock& clock, SteadyTime deadline) {
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  bool signalled = false;
  {
    const MutexLock lock(mutex_);
    while (!(signalled = signals_.load(std::memory_order_seq_cst) != ticket) && clock.now() < deadline) {
      clock.wait_until(condition_, mutex_, deadline);
    }
  }
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  return signalled;
}

}  // namespace millrace
