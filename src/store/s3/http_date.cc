// SPDX-License-Identifier: Apache-2.0
#include "store/s3/http_date.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>

namespace millrace::s3 {

namespace {

// The digits text[at, at + length) as a number; -1 when they are not all there.
int digits(std::string_view text, std::size_t at, std::size_t length) {
  int value = -1;
  if (at + length > text.size()) return -1;
  const char* begin = text.data() + at;
  const auto parsed = std::from_chars(begin, begin + length, value);
  return parsed.ec == std::errc() && parsed.ptr == begin + length ? value : -1;
}

std::optional<UnixMicros> from_parts(int year, int month, int day, int hour, int minute, int second) {
  if (year < 0 || month < 1 || day < 1 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
      second > 60) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  const auto days = static_cast<UnixMicros>(std::chrono::sys_days(date).time_since_epoch().count());
  return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1'000'000;
}

}  // namespace

std::optional<UnixMicros> parse_http_date(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || text.substr(3, 2) != ", " || !text.ends_with(" GMT")) return std::nullopt;
  const auto month = std::ranges::find(kMonths, text.substr(8, 3));
  if (month == kMonths.end()) return std::nullopt;
  return from_parts(digits(text, 12, 4), static_cast<int>(month - kMonths.begin()) + 1, digits(text, 5, 2),
                    digits(text, 17, 2), digits(text, 20, 2), digits(text, 23, 2));
}

std::optional<UnixMicros> parse_iso_date(std::string_view text) {
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':' ||
      text.back() != 'Z') {
    return std::nullopt;
  }
  UnixMicros fraction = 0;
  if (text[19] != 'Z') {
    if (text[19] != '.') return std::nullopt;
    UnixMicros unit = 100'000;
    for (const char c : text.substr(20, text.size() - 21)) {
      if (c < '0' || c > '9') return std::nullopt;
      fraction += unit * (c - '0');
      unit /= 10;
    }
  }
  const auto whole = from_parts(digits(text, 0, 4), digits(text, 5, 2), digits(text, 8, 2), digits(text, 11, 2),
                                digits(text, 14, 2), digits(text, 17, 2));
  if (!whole) return std::nullopt;
  return *whole + fraction;
}

std::optional<Duration> parse_retry_after(std::string_view text, UnixMicros now) {
  constexpr std::int64_t kHour = 3600;
  std::int64_t seconds = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    const auto date = parse_http_date(text);
    if (!date) return std::nullopt;
    seconds = (*date - now) / 1'000'000;
  }
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kHour));
}

}  // namespace millrace::s3
