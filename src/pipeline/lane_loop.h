// SPDX-License-Identifier: Apache-2.0
// LaneLoop: a pipeline thread. It takes its lanes in turn, one batch each, and sleeps when none can go on. Owns its
// lanes; the control thread talks to it by commands.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "pipeline/lane_task.h"

namespace millrace {

class LaneLoop {
 public:
  LaneLoop(std::shared_ptr<RunBoard> board, Clock& clock, Duration poll_timeout)
      : board_(std::move(board)), clock_(&clock), poll_timeout_(poll_timeout) {}

  struct Add {
    std::unique_ptr<LaneTask> task;
  };
  /// Takes no new batch, lets through the one it holds, seals what is open.
  struct Stop {
    LaneId lane;
  };
  /// Destroys the lane; what it still holds fails.
  struct Remove {
    LaneId lane;
  };
  struct Quit {};
  using Command = std::variant<Add, Stop, Remove, Quit>;

  /// Any thread. Carried out within one round.
  void send(Command command);
  /// Wakes the thread: a lane may have something, a queue has room, a watermark moved, a source was resumed.
  [[nodiscard]] Waker waker() const { return Waker(event_); }
  void wake() const noexcept { event_->signal(); }

  /// The thread's body; until Quit.
  void run();

 private:
  [[nodiscard]] bool serve_commands();
  [[nodiscard]] bool held_up() const;
  [[nodiscard]] Duration poll_slice() const;
  void rest(EventCount::Ticket ticket, SteadyTime wake_at);
  template <class Apply>
  void with(LaneId lane, Apply apply);

  const std::shared_ptr<RunBoard> board_;
  Clock* const clock_;
  const Duration poll_timeout_;
  const std::shared_ptr<EventCount> event_ = std::make_shared<EventCount>();
  std::vector<std::unique_ptr<LaneTask>> tasks_;  ///< touched by the thread only
  Mutex mutex_;
  std::vector<Command> commands_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace
