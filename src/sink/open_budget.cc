// SPDX-License-Identifier: Apache-2.0
#include "millrace/sink/open_budget.h"

#include <algorithm>

namespace millrace {

void OpenBudget::change(std::size_t before, std::size_t now) {
  if (before == now) return;
  // Unsigned, so the difference is right either way.
  const std::size_t sum = used_.fetch_add(now - before, memory_order_relaxed) + (now - before);
  if (now < before || sum <= limit_) return;
  const MutexLock lock(mutex_);
  for (const Waker& waker : wakers_) waker.wake();
}

std::size_t OpenBudget::share() const noexcept {
  return limit_ / std::max<std::size_t>(lanes_.load(memory_order_relaxed), 1);
}

bool OpenBudget::must_yield(std::size_t bytes) const noexcept { return used() > limit_ && bytes > share(); }

void OpenBudget::wake_when_over(Waker waker) {
  const MutexLock lock(mutex_);
  wakers_.push_back(std::move(waker));
}

}  // namespace millrace
