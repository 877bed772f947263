// SPDX-License-Identifier: Apache-2.0
// Fiber: a body with a stack of its own, entered and left where it says so. All fibers of a simulation run on the
// thread that resumes them, one at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace millrace::testing {

class Fiber {
 public:
  explicit Fiber(std::function<void()> body);
  /// Of one that has ended, or was never resumed.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Goes on with the body until it pauses or ends. Not from inside a fiber.
  void resume();
  /// From inside the body: back to who resumed it.
  void pause();
  [[nodiscard]] bool done() const noexcept { return done_; }

 private:
  struct Context;
  static void enter(unsigned high, unsigned low);
  void run();

  std::function<void()> body_;
  std::unique_ptr<Context> context_;
  bool done_ = false;
};

}  // namespace millrace::testing
