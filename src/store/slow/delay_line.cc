// SPDX-License-Identifier: Apache-2.0
#include "store/slow/delay_line.h"

#include <algorithm>

namespace millrace::testing {

DelayLine::DelayLine(Clock& clock) : clock_(clock), thread_("delay-line", [this] { run(); }) {}

DelayLine::~DelayLine() {
  cancel_all();
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

DelayLine::Ticket DelayLine::after(Duration delay, Task task) {
  Ticket ticket = 0;
  {
    const MutexLock lock(mutex_);
    ticket = next_++;
    if (all_cancelled_) {
      cancelled_.push_back(std::move(task));
    } else {
      waiting_.emplace(std::pair(clock_.now() + delay, ticket), std::move(task));
    }
  }
  changed_.notify_all();
  return ticket;
}

bool DelayLine::wait(Duration delay) {
  const MutexLock lock(mutex_);
  const SteadyTime until = clock_.now() + delay;
  const std::uint64_t hurries = hurries_;
  while (!all_cancelled_ && hurries == hurries_ && clock_.now() < until) {
    clock_.wait_until(changed_, mutex_, until);
  }
  return !all_cancelled_;
}

void DelayLine::hurry() {
  {
    const MutexLock lock(mutex_);
    ++hurries_;
    for (auto& [when, task] : waiting_) due_.push_back(std::move(task));
    waiting_.clear();
  }
  changed_.notify_all();
}

void DelayLine::cancel(Ticket ticket) {
  {
    const MutexLock lock(mutex_);
    const auto found = std::ranges::find_if(waiting_, [&](const auto& item) { return item.first.second == ticket; });
    if (found == waiting_.end()) return;
    cancelled_.push_back(std::move(found->second));
    waiting_.erase(found);
  }
  changed_.notify_all();
}

void DelayLine::cancel_all() {
  {
    const MutexLock lock(mutex_);
    all_cancelled_ = true;
    for (auto& [when, task] : waiting_) cancelled_.push_back(std::move(task));
    waiting_.clear();
  }
  changed_.notify_all();
}

void DelayLine::run() {
  for (;;) {
    std::vector<Task> now;
    std::vector<Task> ended;
    {
      const MutexLock lock(mutex_);
      for (;;) {
        ended.swap(cancelled_);
        now.swap(due_);
        while (!waiting_.empty() && waiting_.begin()->first.first <= clock_.now()) {
          now.push_back(std::move(waiting_.begin()->second));
          waiting_.erase(waiting_.begin());
        }
        if (!now.empty() || !ended.empty()) break;
        if (ending_) return;
        clock_.wait_until(changed_, mutex_, waiting_.empty() ? clock_.now() + kNever : waiting_.begin()->first.first);
      }
    }
    for (Task& task : ended) task(true);
    for (Task& task : now) task(false);
  }
}

}  // namespace millrace::testing
