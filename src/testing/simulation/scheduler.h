// SPDX-License-Identifier: Apache-2.0
// Scheduler: the clock and the threads of a simulated run. Each thread is a fiber; which one goes on is drawn from the
// seed wherever one waits or offers a step, and time moves only when none can go on without it. One system thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/thread_host.h"
#include "millrace/base/time.h"
#include "millrace/testing/seeded_random.h"
#include "testing/simulation/fiber.h"

namespace millrace::testing {

class Scheduler final : public Clock, public ThreadHost {
 public:
  explicit Scheduler(SeededRandom& random) : random_(random) {}
  ~Scheduler() override;

  /// Runs `body` and all it starts until every one has ended. Why they did not, if they stop getting anywhere: what is
  /// left is kept as it is then, and leaks.
  [[nodiscard]] std::string run(std::function<void()> body);

  // From inside.
  /// Another thread may go on here.
  void step();
  void let_pass(Duration time);
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

  [[nodiscard]] SteadyTime now() const override { return now_; }
  [[nodiscard]] UnixMicros unix_micros() const override;
  void wait_until(CondVar& condition, Mutex& mutex, SteadyTime deadline) override MILLRACE_REQUIRES(mutex);
  [[nodiscard]] std::unique_ptr<Running> start(std::string name, std::function<void()> body) override;
  void wait(CondVar& condition, Mutex& mutex) override MILLRACE_REQUIRES(mutex) {
    wait_until(condition, mutex, SteadyTime::max());
  }

 private:
  struct Task {
    std::string name;
    std::unique_ptr<Fiber> fiber;
    const void* waits_on = nullptr;  ///< null: it may go on
    SteadyTime until;
    bool looked = false;  ///< and went on waiting, since somebody else got anywhere or time moved
  };
  class Hosted;
  void pause(const void* on, SteadyTime until);
  [[nodiscard]] Task* choose();
  [[nodiscard]] bool move_time();
  void go_on(Task& task);
  [[nodiscard]] std::string left(std::string_view why) const;

  SeededRandom& random_;
  SteadyTime now_ = SteadyTime(std::chrono::hours(1));
  std::vector<std::unique_ptr<Task>> tasks_;
  Task* running_ = nullptr;
  std::uint64_t steps_ = 0;
};

}  // namespace millrace::testing
