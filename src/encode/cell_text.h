// SPDX-License-Identifier: Apache-2.0
// What texts mean in cells of a row: times, days, decimals, base64. Nothing where they mean none. Stateless.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "millrace/base/bytes.h"

namespace millrace {

/// RFC 3339 with a zone: microseconds since 1970, UTC. Digits finer than that must be zeros.
[[nodiscard]] std::optional<std::int64_t> read_timestamp(std::string_view text) noexcept;
/// Year, month and day: days since 1970.
[[nodiscard]] std::optional<std::int32_t> read_date(std::string_view text) noexcept;

struct Decimal {
  std::int64_t high = 0;
  std::uint64_t low = 0;
};
/// A number as JSON spells it, times ten to the `scale`: whole, and of at most `precision` digits.
[[nodiscard]] std::optional<Decimal> read_decimal(std::string_view text, int precision, int scale) noexcept;

/// Appends what base64 (RFC 4648, padded) stands for. False, and nothing appended, when it is none.
[[nodiscard]] bool append_from_base64(ByteBuffer& out, std::string_view text);

}  // namespace millrace
