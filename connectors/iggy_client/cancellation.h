// SPDX-License-Identifier: Apache-2.0
// Cancellation: ends waits, for good. Whatever waits on a socket watches descriptor() too; whatever waits for time to
// pass waits here. Thread-safe.
#pragma once

#include "millrace/base/result.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"

namespace millrace::iggy {

class Cancellation {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Cancellation>> make();
  ~Cancellation();
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  void cancel() noexcept;
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_.load(memory_order_acquire); }
  /// Readable once cancelled.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Fails (cancelled) when it is cancelled before `until`.
  [[nodiscard]] Result<void> wait_until(Clock& clock, SteadyTime until);
  [[nodiscard]] static Error error();

 private:
  explicit Cancellation(int descriptor) : descriptor_(descriptor) {}
  const int descriptor_;
  Atomic<bool> cancelled_{false};
  Mutex mutex_;
  CondVar changed_;
};

}  // namespace millrace::iggy
