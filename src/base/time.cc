// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/time.h"

#include <fmt/format.h>

#include <random>

namespace millrace {
namespace {

class RealClock final : public Clock {
 public:
  SteadyTime now() const override { return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now()); }
  UnixMicros unix_micros() const override {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  void wait_until(CondVar& condition, Mutex& mutex, SteadyTime deadline) override MILLRACE_REQUIRES(mutex) {
    condition.wait_until_real(mutex, deadline);
  }
};

class SystemRandom final : public Random {
 public:
  std::uint64_t next() override {
    const MutexLock lock(mutex_);
    return engine_();
  }

 private:
  Mutex mutex_;
  std::mt19937_64 engine_ MILLRACE_GUARDED_BY(mutex_){(std::uint64_t{std::random_device{}()} << 32U) |
                                                      std::random_device{}()};
};

}  // namespace

Clock& Clock::real() {
  static RealClock* const clock =
      new RealClock;  // lives as long as the process: threads may outlast static destruction
  return *clock;
}

Random& Random::system() {
  static SystemRandom* const random = new SystemRandom;
  return *random;
}

std::string to_rfc3339(UnixMicros time, int fraction_digits) {
  using std::chrono::days;
  using std::chrono::floor;
  const std::chrono::sys_time<std::chrono::microseconds> point{std::chrono::microseconds(time)};
  const auto day = floor<days>(point);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock_time(point - day);
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock_time.hours().count(),
                  clock_time.minutes().count(), clock_time.seconds().count());
  if (fraction_digits > 0) {
    const std::string digits = fmt::format("{:06}000", clock_time.subseconds().count());
    text += '.';
    text.append(digits, 0, static_cast<std::size_t>(fraction_digits));
  }
  return text += 'Z';
}

}  // namespace millrace
