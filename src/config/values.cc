// SPDX-License-Identifier: Apache-2.0
#include "millrace/config/values.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <optional>

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

}  // namespace millrace
