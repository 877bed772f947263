// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/object_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "connectors/s3/manifest.h"
#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

constexpr std::size_t kSeconds = std::string_view("2026-07-01T12:00:00").size();
constexpr std::int64_t kMinute = 60'000'000;

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
  const auto time = parse_time(whole + "." + fraction + "Z");
  if (!offset || !time) return std::nullopt;
  return *time - *offset * kMinute;
}

}  // namespace

Result<bool> ObjectLimits::accept(const ObjectInfo& object) const {
  if (min_size && object.size < *min_size) return false;
  if (max_size && object.size > *max_size) return false;
  if (!modified_after && !modified_before) return true;
  if (object.last_modified == kNoTimestamp) {
    return fail(Error::fatal(ErrorCode::bad_response,
                             fmt::format("the store gives no time of change for '{}', so modified_after and "
                                         "modified_before cannot be held against it",
                                         printable(object.key))));
  }
  return !(modified_after && object.last_modified < *modified_after) &&
         !(modified_before && object.last_modified >= *modified_before);
}

Result<UnixMicros> parse_rfc3339(std::string_view text) {
  const auto time = read_time(text);
  if (time) return *time;
  return fail(
      Error::config(fmt::format("'{}' is no time of RFC 3339, such as 2026-07-01T12:00:00Z or "
                                "2026-07-01T14:00:00.5+02:00",
                                printable(text, 60))));
}

}  // namespace millrace::s3_source
