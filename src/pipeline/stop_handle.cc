// SPDX-License-Identifier: Apache-2.0
#include "millrace/pipeline/stop_handle.h"

#include "millrace/base/sync.h"

namespace millrace {

// A lock-free flag is all a signal handler may touch. The control thread looks at it each time it wakes, which is at
// least every ControlLoop::kPeriod.
struct StopHandle::State {
  Atomic<bool> requested{false};
  static_assert(Atomic<bool>::is_always_lock_free);
};

StopHandle::StopHandle() : state_(std::make_shared<State>()) {}
void StopHandle::request() const noexcept { state_->requested.store(true, memory_order_release); }
bool StopHandle::requested() const noexcept { return state_->requested.load(memory_order_acquire); }

}  // namespace millrace
