// SPDX-License-Identifier: Apache-2.0
// Time and chance are passed in, never taken from globals, so that a test or the simulator owns them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "millrace/base/sync.h"

#pragma GCC visibility push(default)
namespace millrace {

using Duration = std::chrono::nanoseconds;
/// A point on the monotonic clock. Means nothing outside this process.
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;
/// Microseconds since 1970-01-01T00:00:00Z, UTC. How every record timestamp travels; kNoTimestamp where there is none.
using UnixMicros = std::int64_t;
inline constexpr UnixMicros kNoTimestamp = INT64_MIN;

/// Thread-safe. The real one is `Clock::real()`; testing::ManualClock moves only when told to.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual SteadyTime now() const = 0;
  [[nodiscard]] virtual UnixMicros unix_micros() const = 0;
  /// Waits on `condition` until it is notified or `deadline` has passed on this clock; may wake early, so callers loop.
  /// `mutex` is held on entry and on return.
  virtual void wait_until(CondVar& condition, Mutex& mutex, SteadyTime deadline) MILLRACE_REQUIRES(mutex) = 0;

  /// The process-wide real clock; never destroyed.
  [[nodiscard]] static Clock& real();
};

/// A source of random numbers for jitter and ids. Thread-safe.
class Random {
 public:
  virtual ~Random() = default;
  [[nodiscard]] virtual std::uint64_t next() = 0;
  /// Uniform in [0, 1).
  [[nodiscard]] double unit() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

  /// Seeded from the system; never destroyed.
  [[nodiscard]] static Random& system();
};

/// RFC 3339 in UTC with `fraction_digits` (0, 3, 6 or 9) digits of a second: "2026-07-01T12:00:00Z".
[[nodiscard]] std::string to_rfc3339(UnixMicros time, int fraction_digits = 0);

}  // namespace millrace
#pragma GCC visibility pop
