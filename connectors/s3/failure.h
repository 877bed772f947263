// SPDX-License-Identifier: Apache-2.0
// Failure: the first error that ends the whole source, wherever it was seen. Any thread; asking costs one load.
#pragma once

#include <optional>
#include <utility>

#include "millrace/base/error.h"
#include "millrace/base/sync.h"

namespace millrace::s3_source {

class Failure {
 public:
  /// The first one stays.
  void set(Error error) {
    const MutexLock lock(mutex_);
    if (error_) return;
    error_ = std::move(error);
    happened_.store(true, memory_order_release);
  }
  [[nodiscard]] bool happened() const noexcept { return happened_.load(memory_order_acquire); }
  [[nodiscard]] std::optional<Error> error() const {
    const MutexLock lock(mutex_);
    return error_;
  }

 private:
  Atomic<bool> happened_{false};
  mutable Mutex mutex_;
  std::optional<Error> error_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::s3_source
