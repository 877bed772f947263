// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "millrace/base/printable.h"

namespace millrace::s3_source {

std::string Owner::describe() const {
  return fmt::format("host {}, pid {}, started {}, last heard of {}", printable(host, 200), pid, to_rfc3339(started),
                     to_rfc3339(heartbeat));
}

const LanePosition* Manifest::position(std::uint64_t lane) const {
  const auto found = std::ranges::lower_bound(positions, lane, {}, &LanePosition::lane);
  return found != positions.end() && found->lane == lane ? &*found : nullptr;
}

std::optional<UnixMicros> parse_time(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00.000000Z";
  if (text.size() != kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == '0' ? !digit : text[i] != kForm[i]) return std::nullopt;
  }
  const auto number = [&](std::size_t at, std::size_t size) {
    int value = 0;
    std::from_chars(text.data() + at, text.data() + at + size, value);
    return value;
  };
  namespace chrono = std::chrono;
  const chrono::year_month_day date(chrono::year(number(0, 4)), chrono::month(static_cast<unsigned>(number(5, 2))),
                                    chrono::day(static_cast<unsigned>(number(8, 2))));
  if (!date.ok() || number(11, 2) > 23 || number(14, 2) > 59 || number(17, 2) > 59) return std::nullopt;
  const chrono::sys_time<chrono::microseconds> time = chrono::sys_days(date) + chrono::hours(number(11, 2)) +
                                                      chrono::minutes(number(14, 2)) + chrono::seconds(number(17, 2)) +
                                                      chrono::microseconds(number(20, 6));
  return time.time_since_epoch().count();
}

void Manifest::Skipped::add(std::string key) {
  ++count;
  if (keys.size() < kSkippedNamed) keys.push_back(std::move(key));
}

}  // namespace millrace::s3_source
