// SPDX-License-Identifier: Apache-2.0
#include "pipeline/abandonable_thread.h"

#include <utility>

namespace millrace {

AbandonableThread::AbandonableThread(ThreadHost& host, std::string name, std::function<void()> body)
    : state_(std::make_shared<State>()),
      thread_(host.start(std::move(name), [state = state_, body = std::move(body)]() mutable {
        body();
        body = nullptr;  // what it owned is gone before the owner hears of the end
        const MutexLock lock(state->mutex);
        state->done = true;
        state->ended.notify_all();
      })) {}

bool AbandonableThread::join_until(Clock& clock, SteadyTime deadline) {
  if (!thread_->joinable()) return true;
  {
    const MutexLock lock(state_->mutex);
    while (!state_->done) {
      if (clock.now() >= deadline) return false;
      clock.wait_until(state_->ended, state_->mutex, deadline);
    }
  }
  thread_->join();
  return true;
}

}  // namespace millrace
