// SPDX-License-Identifier: Apache-2.0
// StopWatch: looks, on a thread of its own, whether a stop is asked for, while somebody waits for the outside who
// cannot look: an open() whose server is silent. Belongs to who waits.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "millrace/base/stop_signal.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"

#pragma GCC visibility push(default)
namespace millrace {

class StopWatch {
 public:
  /// `asked` may be empty: then no stop comes. `cancel` ends the wait; it is called once, on the watch's thread.
  StopWatch(std::string thread, std::function<bool()> asked, std::function<void()> cancel) {
    if (!asked) return;
    thread_ = Thread(std::move(thread), [this, asked = std::move(asked), cancel = std::move(cancel)] {
      while (!asked()) {
        if (ended_.wait(Clock::real(), kLook)) return;
      }
      stop_.request();
      cancel();
    });
  }
  ~StopWatch() { static_cast<void>(end()); }
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;
  [[nodiscard]] StopSignal& stop() { return stop_; }
  /// Looks no longer. True when the stop came before.
  [[nodiscard]] bool end() {
    ended_.request();
    thread_.join();
    return stop_.requested();
  }

 private:
  static constexpr Duration kLook = std::chrono::milliseconds(50);

  StopSignal stop_;
  StopSignal ended_;
  Thread thread_;  // last: it uses the above
};

}  // namespace millrace
#pragma GCC visibility pop
