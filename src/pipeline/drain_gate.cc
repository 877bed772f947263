// SPDX-License-Identifier: Apache-2.0
#include "pipeline/drain_gate.h"

#include <algorithm>

namespace millrace {
namespace {

// With less time left than this, half of the rest is not worth a try of its own.
constexpr Duration kShortestDelay = std::chrono::milliseconds(20);

}  // namespace

void DrainGate::begin_drain(SteadyTime deadline) {
  const MutexLock lock(mutex_);
  if (!deadline_) deadline_ = deadline;
  changed_.notify_all();
}

void DrainGate::give_up() {
  const MutexLock lock(mutex_);
  given_up_.store(true, memory_order_release);
  changed_.notify_all();
}

SteadyTime DrainGate::deadline() const {
  const MutexLock lock(mutex_);
  return deadline_.value_or(SteadyTime::max());
}

bool DrainGate::wait(Duration delay, bool asked) {
  const MutexLock lock(mutex_);
  const bool draining = deadline_.has_value();
  if (draining && !asked) {
    // A long backoff would waste the time that is left: half of it at most goes by between two tries.
    delay = std::min(delay, std::max((*deadline_ - clock_->now()) / 2, kShortestDelay));
  }
  const SteadyTime until = clock_->now() + delay;
  for (;;) {
    const SteadyTime now = clock_->now();
    if (given_up() || (deadline_ && now >= *deadline_)) return false;
    if (now >= until || (!draining && deadline_)) return true;
    clock_->wait_until(changed_, mutex_, deadline_ ? std::min(until, *deadline_) : until);
  }
}

}  // namespace millrace
