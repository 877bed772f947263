// SPDX-License-Identifier: Apache-2.0
#include "testing/simulation/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "millrace/base/check.h"

namespace millrace::testing {
namespace {

// Far beyond what any run here takes; a run that gets this far gets nowhere.
constexpr std::uint64_t kMostSteps = 5'000'000;
constexpr Duration kMostTime = std::chrono::hours(24);
constexpr UnixMicros kUnixStart = 1'700'000'000'000'000;

}  // namespace

/// What the engine holds of a thread. The body has said that it is over before anybody joins.
class Scheduler::Hosted final : public ThreadHost::Running {
 public:
  explicit Hosted(Scheduler& scheduler, const Task* task) : scheduler_(scheduler), task_(task) {}
  ~Hosted() override {
    if (task_ != nullptr) Hosted::join();
  }
  bool joinable() const override { return task_ != nullptr; }
  void join() override {
    while (!task_->fiber->done()) scheduler_.pause(task_, SteadyTime::max());
    task_ = nullptr;
  }
  void detach() override { task_ = nullptr; }

 private:
  Scheduler& scheduler_;
  const Task* task_;
};

// A fiber that is not through holds what it holds; its stack cannot be taken from under that.
Scheduler::~Scheduler() {
  for (auto& task : tasks_) {
    if (!task->fiber->done()) static_cast<void>(task->fiber.release());
  }
}

UnixMicros Scheduler::unix_micros() const {
  return kUnixStart + std::chrono::duration_cast<std::chrono::microseconds>(now_.time_since_epoch()).count();
}

std::unique_ptr<ThreadHost::Running> Scheduler::start(std::string name, std::function<void()> body) {
  auto task = std::make_unique<Task>();
  task->name = std::move(name);
  task->fiber = std::make_unique<Fiber>(std::move(body));
  return std::make_unique<Hosted>(*this, tasks_.emplace_back(std::move(task)).get());
}

void Scheduler::wait_until(CondVar& condition, Mutex& mutex, SteadyTime deadline) {
  MILLRACE_CHECK(running_ != nullptr, "only a thread of the simulation waits on its clock");
  mutex.unlock();
  pause(&condition, deadline);
  mutex.lock();
}

void Scheduler::step() { pause(nullptr, now_); }

void Scheduler::let_pass(Duration time) {
  const SteadyTime until = now_ + time;
  while (now_ < until) pause(&until, until);
}

void Scheduler::pause(const void* on, SteadyTime until) {
  Task& task = *running_;
  // The same wait again: it looked, and nothing had come.
  task.looked = on != nullptr && on == task.waits_on && until == task.until;
  if (!task.looked) {
    for (auto& other : tasks_) other->looked = false;
  }
  task.waits_on = on;
  task.until = until;
  task.fiber->pause();
}

void Scheduler::go_on(Task& task) {
  ++steps_;
  running_ = &task;
  task.fiber->resume();
  running_ = nullptr;
  if (!task.fiber->done()) return;
  for (auto& other : tasks_) other->looked = false;
}

// Of those that have not looked in vain, any: a wait may end early, so its loop is let look again.
Scheduler::Task* Scheduler::choose() {
  std::vector<Task*> may;
  for (auto& task : tasks_) {
    if (!task->fiber->done() && !task->looked) may.push_back(task.get());
  }
  return may.empty() ? nullptr : may[random_.below(may.size())];
}

bool Scheduler::move_time() {
  SteadyTime next = SteadyTime::max();
  for (auto& task : tasks_) {
    if (!task->fiber->done()) next = std::min(next, task->until);
  }
  if (next == SteadyTime::max()) return false;
  now_ = std::max(now_ + Duration(1), next);
  for (auto& task : tasks_) task->looked = false;
  return true;
}

std::string Scheduler::run(std::function<void()> body) {
  const SteadyTime begun = now_;
  const std::uint64_t first = steps_;
  const std::unique_ptr<Running> main = start("control", std::move(body));
  main->detach();
  const auto runs = [](const auto& task) { return !task->fiber->done(); };
  while (std::ranges::any_of(tasks_, runs)) {
    if (Task* task = choose()) {
      go_on(*task);
    } else if (!move_time()) {
      return left("all wait, and nothing will wake them");
    }
    if (steps_ - first > kMostSteps) return left(fmt::format("{} steps led to no end", kMostSteps));
    if (now_ - begun > kMostTime) return left("a day led to no end");
  }
  tasks_.clear();
  return {};
}

std::string Scheduler::left(std::string_view why) const {
  std::string text(why);
  text += "; still there:";
  for (const auto& task : tasks_) {
    if (!task->fiber->done()) text += " " + task->name;
  }
  return text;
}

}  // namespace millrace::testing
