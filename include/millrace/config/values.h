// SPDX-License-Identifier: Apache-2.0
// Values a person writes: sizes ("8MiB", "8MB", "8388608"), durations ("250ms", "5s", "1m30s"), times,
// secrets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/base/time.h"

#pragma GCC visibility push(default)
namespace millrace {

/// A number of bytes. KiB, MiB, GiB, TiB are powers of 1024; kB/KB, MB, GB, TB powers of 1000; no unit means bytes.
struct ByteSize {
  std::uint64_t bytes = 0;
  friend auto operator<=>(const ByteSize&, const ByteSize&) = default;
};
[[nodiscard]] Result<ByteSize> parse_byte_size(std::string_view text);
/// The shortest exact spelling: "8MiB", "1500".
[[nodiscard]] std::string to_string(ByteSize size);

/// Units ns, us, ms, s, m, h, d; several may follow each other, largest first. "0s" is zero; a bare number is refused.
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);
[[nodiscard]] std::string to_string(Duration duration);

/// A date-time of RFC 3339 with its offset, to a microsecond: "2026-07-01T12:00:00Z", "2026-07-01T14:00:00.5+02:00".
/// Fails (config) with what is expected.
[[nodiscard]] Result<UnixMicros> parse_rfc3339(std::string_view text);

/// Text that appears in no output. Read it with reveal(), only where it is used.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  [[nodiscard]] const std::string& reveal() const noexcept { return value_; }
  [[nodiscard]] bool empty() const noexcept { return value_.empty(); }

 private:
  std::string value_;
};

}  // namespace millrace
#pragma GCC visibility pop
