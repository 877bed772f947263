// SPDX-License-Identifier: Apache-2.0
// ThreadHost: where the threads of a run come from, beside that of its caller. Passed in, as time and chance are, so
// that a simulation can run them all on one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "millrace/base/sync.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Thread-safe. The real one is `ThreadHost::real()`.
class ThreadHost {
 public:
  virtual ~ThreadHost() = default;

  /// A body under way. Destroyed by the thread that started it; waits for the body then, unless it was detached.
  class Running {
   public:
    virtual ~Running() = default;
    /// Whether it is neither joined nor detached.
    [[nodiscard]] virtual bool joinable() const = 0;
    virtual void join() = 0;
    virtual void detach() = 0;
  };
  /// Runs `body` beside the caller. `name`: at most 15 bytes.
  [[nodiscard]] virtual std::unique_ptr<Running> start(std::string name, std::function<void()> body) = 0;

  /// Waits on `condition` in a body, however long; may wake early, so callers loop. Waits with a deadline go through
  /// the run's Clock. `mutex` is held on entry and on return.
  virtual void wait(CondVar& condition, Mutex& mutex) MILLRACE_REQUIRES(mutex) = 0;

  /// A thread of the system for each; never destroyed.
  [[nodiscard]] static ThreadHost& real();
};

}  // namespace millrace
#pragma GCC visibility pop
