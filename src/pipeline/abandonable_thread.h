// SPDX-License-Identifier: Apache-2.0
// AbandonableThread: a thread whose owner waits for its end up to a deadline, and leaves it behind when it does not
// come. Code of others runs on it (a write, a poll) and may never return; a shutdown must. Whatever the body touches is
// shared, so that a thread left behind harms nobody. Owned by the control thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "millrace/base/thread_host.h"
#include "millrace/base/time.h"

namespace millrace {

class AbandonableThread {
 public:
  /// `body` must own (share) all that it uses. `clock` outlives the thread.
  AbandonableThread(ThreadHost& host, std::string name, std::function<void()> body);
  AbandonableThread(AbandonableThread&&) noexcept = default;
  AbandonableThread& operator=(AbandonableThread&&) noexcept = default;
  /// Waits for the end, however long, unless it was joined or abandoned.
  ~AbandonableThread() = default;

  /// True when the body has ended by `deadline`.
  [[nodiscard]] bool join_until(Clock& clock, SteadyTime deadline);
  /// Leaves the thread to itself.
  void abandon() { thread_->detach(); }

 private:
  struct State {
    Mutex mutex;
    CondVar ended;
    bool done MILLRACE_GUARDED_BY(mutex) = false;
  };
  std::shared_ptr<State> state_;
  std::unique_ptr<ThreadHost::Running> thread_;
};

}  // namespace millrace
