// SPDX-License-Identifier: Apache-2.0
// How long to wait before the next try: capped exponential with full jitter. One per operation; one thread at a time.
#pragma once

#include <algorithm>
#include <optional>

#include "millrace/base/time.h"

#pragma GCC visibility push(default)
namespace millrace {

struct BackoffOptions {
  Duration initial = std::chrono::milliseconds(100);
  Duration cap = std::chrono::seconds(10);
  double multiplier = 2.0;  ///< at least 1
};

/// Delays are in (0, cap] for every option; a Retry-After longer than the drawn delay wins (it may exceed the cap).
class Backoff {
 public:
  Backoff(BackoffOptions options, Random& random) : options_(options), random_(&random), next_(options.initial) {}
  /// The next delay. `asked` is the other side's Retry-After.
  [[nodiscard]] Duration next(std::optional<Duration> asked = std::nullopt) {
    const Duration ceiling = std::clamp<Duration>(next_, Duration(1), std::max<Duration>(options_.cap, Duration(1)));
    const double grown = static_cast<double>(ceiling.count()) * std::max(options_.multiplier, 1.0);
    next_ =
        grown >= static_cast<double>(options_.cap.count()) ? options_.cap : Duration(static_cast<Duration::rep>(grown));
    ++attempts_;
    const Duration drawn(1 + static_cast<Duration::rep>(random_->unit() * static_cast<double>(ceiling.count() - 1)));
    return asked ? std::max(drawn, *asked) : drawn;
  }
  void reset() {
    next_ = options_.initial;
    attempts_ = 0;
  }
  [[nodiscard]] int attempts() const noexcept { return attempts_; }

 private:
  BackoffOptions options_;
  Random* random_;
  Duration next_;
  int attempts_ = 0;
};

}  // namespace millrace
#pragma GCC visibility pop
