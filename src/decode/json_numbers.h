// SPDX-License-Identifier: Apache-2.0
// Numbers as JSON spells them: is it one, and what is it worth. Stateless.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

/// Is [begin, end) one JSON number, perhaps with blanks behind it? Reads up to 16 bytes from `begin`.
[[nodiscard]] bool is_json_number(const char* begin, const char* end) noexcept;
/// The same, byte by byte.
[[nodiscard]] bool is_json_number_plainly(const char* begin, const char* end) noexcept;

/// What a number is worth; anything but `ok` leaves `value` alone.
enum class NumberFit {
  ok,
  not_whole,     ///< has a fraction or an exponent
  out_of_range,  ///< does not fit the type
};
/// `text` is a JSON number without blanks.
[[nodiscard]] NumberFit to_integer(std::string_view text, std::int64_t& value) noexcept;
[[nodiscard]] NumberFit to_integer(std::string_view text, std::uint64_t& value) noexcept;
/// Nearest double. Too small becomes 0 as everywhere; too large is out of range.
[[nodiscard]] NumberFit to_double(std::string_view text, double& value) noexcept;

}  // namespace millrace
