// SPDX-License-Identifier: Apache-2.0
// StopHandle: asks a run to stop. Copyable; any thread.
#pragma once

#include <memory>

#pragma GCC visibility push(default)
namespace millrace {

/// At the next record the run drains, commits and ends Stopped. Seen within 50 ms, as request() is async-signal-safe
/// and so wakes nobody.
class StopHandle {
 public:
  StopHandle();
  void request() const noexcept;
  [[nodiscard]] bool requested() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace millrace
#pragma GCC visibility pop
