// SPDX-License-Identifier: Apache-2.0
// LatencyWindow: the least of the latest latencies: how far away a store is, whatever queues on the way add. One thread
// at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "millrace/base/time.h"

namespace millrace::s3_source {

class LatencyWindow {
 public:
  void record(Duration latency) {
    latest_[next_] = latency;
    next_ = (next_ + 1) % latest_.size();
    count_ = std::min(count_ + 1, latest_.size());
  }
  /// Longer than anything while nothing is known.
  [[nodiscard]] Duration least() const {
    if (count_ == 0) return Duration::max();
    return *std::min_element(latest_.begin(), latest_.begin() + static_cast<std::ptrdiff_t>(count_));
  }

 private:
  std::array<Duration, 32> latest_{};
  std::size_t next_ = 0;
  std::size_t count_ = 0;
};

}  // namespace millrace::s3_source
