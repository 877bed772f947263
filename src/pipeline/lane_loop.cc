// SPDX-License-Identifier: Apache-2.0
#include "pipeline/lane_loop.h"

#include <algorithm>
#include <utility>

namespace millrace {
namespace {

// With very many lanes that wait in their polls a round may take longer than the poll timeout, but it never spins.
constexpr Duration kShortestSlice = std::chrono::microseconds(100);
// A thread that nothing will wake looks around now and then all the same.
constexpr Duration kLongestRest = std::chrono::minutes(10);

}  // namespace

// One round takes each lane one batch further. While any lane produces, the others are polled without waiting; when
// none does, lanes with a waker let the thread sleep on its event count, and those without share the poll timeout.
void LaneLoop::run() {
  bool produced = false;
  for (;;) {
    const EventCount::Ticket ticket = event_->ticket();
    if (!serve_commands()) return;
    const Duration slice = produced || held_up() ? Duration::zero() : poll_slice();
    produced = false;
    SteadyTime wake_at = SteadyTime::max();
    for (const auto& task : tasks_) {
      produced |= task->step(produced ? Duration::zero() : slice) == LaneTask::Step::produced;
      wake_at = std::min(wake_at, task->tick(clock_->now()));
    }
    if (!produced) rest(ticket, wake_at);
  }
}

// A lane waits for room, for its watermark or to be resumed, which wakes the thread: it must not sit in the poll of
// another lane then.
bool LaneLoop::held_up() const {
  return std::ranges::any_of(tasks_, [](const auto& task) { return task->waits_for_event(); });
}

Duration LaneLoop::poll_slice() const {
  const auto waiting = std::ranges::count_if(tasks_, [](const auto& task) { return task->waits_in_poll(); });
  return std::max(poll_timeout_ / std::max<std::ptrdiff_t>(waiting, 1), kShortestSlice);
}

void LaneLoop::rest(EventCount::Ticket ticket, SteadyTime wake_at) {
  const SteadyTime now = clock_->now();
  if (std::ranges::any_of(tasks_, [](const auto& task) { return task->waits_in_poll(); })) {
    // Their polls are the rest, unless they do not wait as they should or were not let.
    const bool paced = std::ranges::any_of(tasks_, [](const auto& task) { return task->spinning(); });
    if (!paced && !held_up()) return;
    wake_at = std::min(wake_at, now + poll_slice());
  }
  event_->wait_until(ticket, *clock_, std::min(wake_at, now + kLongestRest));
}

void LaneLoop::send(Command command) {
  {
    const MutexLock lock(mutex_);
    commands_.push_back(std::move(command));
  }
  event_->signal();
}

// False when the loop is to end; its lanes are destroyed then, on the thread they belong to.
bool LaneLoop::serve_commands() {
  std::vector<Command> commands;
  {
    const MutexLock lock(mutex_);
    commands.swap(commands_);
  }
  for (Command& command : commands) {
    if (auto* add = std::get_if<Add>(&command)) {
      tasks_.push_back(std::move(add->task));
    } else if (const auto* stop = std::get_if<Stop>(&command)) {
      with(stop->lane, [](auto& task) { (*task)->stop(); });
    } else if (const auto* remove = std::get_if<Remove>(&command)) {
      with(remove->lane, [this](auto& task) {
        const std::shared_ptr<LaneStatus> status = (*task)->shared_status();
        tasks_.erase(task);
        status->phase.store(LanePhase::removed, memory_order_release);
        board_->wake_control();
      });
    } else {
      tasks_.clear();
      return false;
    }
  }
  return true;
}

template <class Apply>
void LaneLoop::with(LaneId lane, Apply apply) {
  const auto task = std::ranges::find(tasks_, lane, [](const auto& one) { return one->status().id; });
  if (task != tasks_.end()) apply(task);
}

}  // namespace millrace
