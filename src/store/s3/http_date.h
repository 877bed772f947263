// SPDX-License-Identifier: Apache-2.0
// Times as S3 writes them, in UTC. Pure functions; anything that is not of the form gives nothing.
#pragma once

#include <optional>
#include <string_view>

#include "millrace/base/time.h"

namespace millrace::s3 {

/// "Fri, 24 May 2013 00:00:00 GMT" (headers).
[[nodiscard]] std::optional<UnixMicros> parse_http_date(std::string_view text);
/// "2013-05-24T00:00:00.000Z", with any number of digits of a second or none (listings).
[[nodiscard]] std::optional<UnixMicros> parse_iso_date(std::string_view text);
/// Retry-After: seconds, or a date counted from `now`. Never negative; at most an hour, whatever was asked.
[[nodiscard]] std::optional<Duration> parse_retry_after(std::string_view text, UnixMicros now);

}  // namespace millrace::s3
