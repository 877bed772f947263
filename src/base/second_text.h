// SPDX-License-Identifier: Apache-2.0
// A second as RFC 3339 spells it, without memory of its own, for the hot path. Pure functions; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>

namespace millrace {

/// The last `count` decimal digits of `number`.
inline void put_digits(char* to, int count, std::uint64_t number) noexcept {
  for (int i = count - 1; i >= 0; --i, number /= 10) to[i] = static_cast<char>('0' + number % 10);
}

/// "2026-07-01T12:00:00" of a second since 1970, UTC; false when the year has no four digits.
[[nodiscard]] inline bool put_second(std::int64_t second, char (&to)[19]) noexcept {
  using std::chrono::days;
  using std::chrono::seconds;
  const std::chrono::sys_time<seconds> time{seconds(second)};
  // A day count beyond the calendar's years would wrap in year_month_day.
  constexpr std::int64_t kYear0 = -62'167'219'200;
  constexpr std::int64_t kYear10000 = 253'402'300'800;
  if (second < kYear0 || second >= kYear10000) return false;
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date(day);
  const auto of_day = static_cast<std::uint64_t>((time - day).count());
  std::memcpy(to, "0000-00-00T00:00:00", sizeof to);
  put_digits(to, 4, static_cast<std::uint64_t>(static_cast<int>(date.year())));
  put_digits(to + 5, 2, static_cast<unsigned>(date.month()));
  put_digits(to + 8, 2, static_cast<unsigned>(date.day()));
  put_digits(to + 11, 2, of_day / 3600);
  put_digits(to + 14, 2, of_day / 60 % 60);
  put_digits(to + 17, 2, of_day % 60);
  return true;
}

}  // namespace millrace
