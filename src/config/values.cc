// SPDX-License-Identifier: Apache-2.0
#include "millrace/config/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>
#include <optional>
#include <string>

#include "millrace/base/printable.h"

namespace millrace {
namespace {

/// Of a wrong value, in a message.
constexpr std::size_t kShownBytes = 80;

struct SizeUnit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::uint64_t kKilo = 1000;
constexpr std::uint64_t kKibi = 1024;
constexpr std::array kSizeUnits{
    SizeUnit{"TiB", kKibi* kKibi* kKibi* kKibi},
    SizeUnit{"GiB", kKibi* kKibi* kKibi},
    SizeUnit{"MiB", kKibi* kKibi},
    SizeUnit{"KiB", kKibi},
    SizeUnit{"TB", kKilo* kKilo* kKilo* kKilo},
    SizeUnit{"GB", kKilo* kKilo* kKilo},
    SizeUnit{"MB", kKilo* kKilo},
    SizeUnit{"kB", kKilo},
    SizeUnit{"KB", kKilo},
    SizeUnit{"B", 1},
    SizeUnit{"", 1},
};

struct TimeUnit {
  std::string_view name;
  std::int64_t nanoseconds;
};
constexpr std::array kTimeUnits{
    TimeUnit{"d", 86'400'000'000'000},
    TimeUnit{"h", 3'600'000'000'000},
    TimeUnit{"m", 60'000'000'000},
    TimeUnit{"s", 1'000'000'000},
    TimeUnit{"ms", 1'000'000},
    TimeUnit{"us", 1'000},
    TimeUnit{"ns", 1},
};

/// Takes digits off the front of `text`; nothing when there are none or too many.
template <class T>
std::optional<T> take_number(std::string_view& text) {
  T value{};
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::unexpected<Error> no_size(std::string_view text) {
  return fail(Error::config(fmt::format(
      "'{}' is no size; write a whole number and a unit without a space: 8MiB, 8MB, 512KiB, or bytes alone: 8388608",
      printable(text, kShownBytes))));
}

std::unexpected<Error> no_duration(std::string_view text) {
  return fail(Error::config(
      fmt::format("'{}' is no duration; write whole numbers with units, the largest first: 250ms, 5s, 1m30s, 2h",
                  printable(text, kShownBytes))));
}

std::unexpected<Error> too_large(std::string_view text) {
  return fail(Error::config(fmt::format("'{}' is more than can be counted", printable(text, kShownBytes))));
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

constexpr std::size_t kSeconds = std::string_view("2026-07-01T12:00:00").size();
constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kMinute = 60 * kSecond;

std::size_t digits(std::string_view text) { return std::min(text.find_first_not_of("0123456789"), text.size()); }

/// "Z" or "+02:00", as minutes ahead of UTC.
std::optional<std::int64_t> parse_offset(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  if (digits(text.substr(1, 2)) != 2 || digits(text.substr(4)) != 2) return std::nullopt;
  const auto number = [&](std::size_t at) { return (text[at] - '0') * 10 + (text[at + 1] - '0'); };
  if (number(1) > 23 || number(4) > 59) return std::nullopt;
  const std::int64_t minutes = number(1) * 60 + number(4);
  return text[0] == '-' ? -minutes : minutes;
}

std::int64_t number_of(std::string_view digits) {
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

/// "2026-07-01T12:00:00" in UTC, as seconds since the epoch.
std::optional<std::int64_t> read_seconds(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00";
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == '0' ? !digit : text[i] != kForm[i]) return std::nullopt;
  }
  const auto number = [&](std::size_t at, std::size_t size) { return number_of(text.substr(at, size)); };
  namespace chrono = std::chrono;
  const chrono::year_month_day date(chrono::year(static_cast<int>(number(0, 4))),
                                    chrono::month(static_cast<unsigned>(number(5, 2))),
                                    chrono::day(static_cast<unsigned>(number(8, 2))));
  if (!date.ok() || number(11, 2) > 23 || number(14, 2) > 59 || number(17, 2) > 59) return std::nullopt;
  const chrono::sys_seconds time = chrono::sys_days(date) + chrono::hours(number(11, 2)) +
                                   chrono::minutes(number(14, 2)) + chrono::seconds(number(17, 2));
  return time.time_since_epoch().count();
}

std::optional<UnixMicros> read_time(std::string_view text) {
  if (text.size() <= kSeconds) return std::nullopt;
  std::string whole(text.substr(0, kSeconds));
  if (whole[10] == 't' || whole[10] == ' ') whole[10] = 'T';  // as RFC 3339 allows
  text.remove_prefix(kSeconds);
  std::string fraction;
  if (text.starts_with('.')) {
    fraction = text.substr(1, digits(text.substr(1)));
    if (fraction.empty() || fraction.size() > 6) return std::nullopt;
    text.remove_prefix(1 + fraction.size());
  }
  fraction.resize(6, '0');
  const auto offset = parse_offset(text);
  const auto time = read_seconds(whole);
  if (!offset || !time) return std::nullopt;
  return *time * kSecond + number_of(fraction) - *offset * kMinute;
}

}  // namespace

Result<ByteSize> parse_byte_size(std::string_view text) {
  std::string_view rest = text;
  const auto number = take_number<std::uint64_t>(rest);
  if (!number)
    return all_digits(text.substr(0, text.find_first_not_of("0123456789"))) ? too_large(text) : no_size(text);
  for (const SizeUnit& unit : kSizeUnits) {
    if (rest != unit.name) continue;
    if (*number > std::numeric_limits<std::uint64_t>::max() / unit.bytes) return too_large(text);
    return ByteSize{*number * unit.bytes};
  }
  return no_size(text);
}

std::string to_string(ByteSize size) {
  std::string best = std::to_string(size.bytes);
  if (size.bytes == 0) return best;
  bool bare = true;
  for (const SizeUnit& unit : kSizeUnits) {
    if (unit.bytes == 1 || unit.name == "KB" || size.bytes % unit.bytes != 0) continue;
    std::string text = fmt::format("{}{}", size.bytes / unit.bytes, unit.name);
    if (text.size() < best.size() || (bare && text.size() == best.size())) {
      best = std::move(text);
      bare = false;
    }
  }
  return best;
}

Result<Duration> parse_duration(std::string_view text) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::string_view rest = text;
  std::int64_t total = 0;
  std::size_t next_unit = 0;  // units only get smaller
  if (rest.empty()) return no_duration(text);
  while (!rest.empty()) {
    const bool digits = rest.front() >= '0' && rest.front() <= '9';
    const auto number = take_number<std::int64_t>(rest);
    if (!number) return digits ? too_large(text) : no_duration(text);
    const std::string_view name = rest.substr(0, rest.find_first_of("0123456789"));
    while (next_unit < kTimeUnits.size() && kTimeUnits[next_unit].name != name) ++next_unit;
    if (next_unit == kTimeUnits.size()) return no_duration(text);
    const std::int64_t unit = kTimeUnits[next_unit++].nanoseconds;
    if (*number > kMost / unit || *number * unit > kMost - total) return too_large(text);
    total += *number * unit;
    rest.remove_prefix(name.size());
  }
  return Duration(total);
}

std::string to_string(Duration duration) {
  const bool negative = duration.count() < 0;
  auto rest = negative ? -static_cast<std::uint64_t>(duration.count()) : static_cast<std::uint64_t>(duration.count());
  if (rest == 0) return "0s";
  std::string text = negative ? "-" : "";
  for (const TimeUnit& unit : kTimeUnits) {
    const auto size = static_cast<std::uint64_t>(unit.nanoseconds);
    if (rest < size) continue;
    text += fmt::format("{}{}", rest / size, unit.name);
    rest %= size;
  }
  return text;
}

Result<UnixMicros> parse_rfc3339(std::string_view text) {
  const auto time = read_time(text);
  if (time) return *time;
  return fail(
      Error::config(fmt::format("'{}' is no time of RFC 3339, such as 2026-07-01T12:00:00Z or "
                                "2026-07-01T14:00:00.5+02:00",
                                printable(text, kShownBytes))));
}

}  // namespace millrace
