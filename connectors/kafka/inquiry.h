// SPDX-License-Identifier: Apache-2.0
// Inquiry: a question to the brokers, asked on an I/O thread of its own so that the control thread can serve others
// meanwhile. Made, asked for its answer and ended by the control thread; ending it takes as long as one call that is
// under way (kAskMillis).
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "millrace/base/result.h"
#include "millrace/base/stop_signal.h"
#include "millrace/base/sync.h"

namespace millrace::kafka {

template <class Answer>
class Inquiry {
 public:
  using Ask = std::function<Result<Answer>(StopSignal&)>;
  Inquiry(Ask ask, Waker done)
      : ask_(std::move(ask)), done_(std::move(done)), thread_("kafka-inquiry", [this] { run(); }) {}
  ~Inquiry() {
    stop_.request();
    thread_.join();
  }
  Inquiry(const Inquiry&) = delete;
  Inquiry& operator=(const Inquiry&) = delete;

  /// The answer, once; nothing while there is none.
  [[nodiscard]] std::optional<Result<Answer>> take() {
    const MutexLock lock(mutex_);
    return std::exchange(answer_, std::nullopt);
  }

 private:
  void run() {
    Result<Answer> answer = ask_(stop_);
    {
      const MutexLock lock(mutex_);
      answer_ = std::move(answer);
    }
    done_.wake();
  }

  const Ask ask_;
  const Waker done_;
  StopSignal stop_;
  Mutex mutex_;
  std::optional<Result<Answer>> answer_ MILLRACE_GUARDED_BY(mutex_);
  Thread thread_;  // last: it uses what stands above
};

}  // namespace millrace::kafka
