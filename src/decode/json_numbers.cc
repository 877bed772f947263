// SPDX-License-Identifier: Apache-2.0
#include "decode/json_numbers.h"

#include <bit>
#include <charconv>
#include <cstddef>
#include <system_error>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace millrace {
namespace {

bool is_digit(char c) noexcept { return static_cast<unsigned char>(c - '0') < 10; }
bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Skips digits; false when there is none.
bool digits(const char*& at, const char* end) noexcept {
  if (at == end || !is_digit(*at)) return false;
  while (at != end && is_digit(*at)) ++at;
  return true;
}

template <class Integer>
NumberFit to_whole(std::string_view text, Integer& value) noexcept {
  Integer parsed = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error == std::errc() && stop == text.data() + text.size()) {
    value = parsed;
    return NumberFit::ok;
  }
  return text.find_first_of(".eE") == std::string_view::npos ? NumberFit::out_of_range : NumberFit::not_whole;
}

// Of a number no double can hold: is it because of its size (else it is too close to zero)?
bool is_large(std::string_view text) noexcept {
  const std::size_t mark = text.find_first_of("eE");
  std::int64_t magnitude = 0;  // decimal places of the first digit that counts, left of the point
  bool behind_point = false;
  bool counts = false;
  for (const char c : text.substr(0, mark)) {
    if (c == '.') behind_point = true;
    if (!is_digit(c)) continue;
    counts = counts || c != '0';
    if (counts && !behind_point) ++magnitude;
    if (!counts && behind_point) --magnitude;
  }
  if (!counts || mark == std::string_view::npos) return counts && magnitude > 0;
  std::string_view exponent = text.substr(mark + 1);
  const bool small = exponent.front() == '-';
  if (small || exponent.front() == '+') exponent.remove_prefix(1);
  std::int64_t shift = 0;
  if (std::from_chars(exponent.data(), exponent.data() + exponent.size(), shift).ec != std::errc()) return !small;
  return magnitude + (small ? -shift : shift) > 0;
}

}  // namespace

bool is_json_number_plainly(const char* begin, const char* end) noexcept {
  const char* at = begin;
  if (at != end && *at == '-') ++at;
  if (at != end && *at == '0') {
    ++at;
  } else if (!digits(at, end)) {
    return false;
  }
  if (at != end && *at == '.') {
    ++at;
    if (!digits(at, end)) return false;
  }
  if (at != end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at != end && (*at == '+' || *at == '-')) ++at;
    if (!digits(at, end)) return false;
  }
  while (at != end && is_blank(*at)) ++at;
  return at == end;
}

#if defined(__SSE2__)
bool is_json_number(const char* begin, const char* end) noexcept {
  const auto length = static_cast<std::size_t>(end - begin);
  // Without loops, since the number of digits is what a branch predictor cannot know: `-12`, `3`, `-0.5`, `12.25`.
  // Exponents, long numbers, blanks behind, and everything wrong take the plain way.
  if (length <= 16) [[likely]] {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(begin));
    const __m128i above_zero = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
    const auto is_ten = static_cast<unsigned>(
        _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(above_zero, _mm_set1_epi8(9)), above_zero)));
    const unsigned sign = begin[0] == '-' ? 1 : 0;
    const unsigned others = ~is_ten & ((1U << length) - 1) & ~sign;
    const unsigned point = static_cast<unsigned>(std::countr_zero(others | 0x10000U));
    const bool leads_with_zero = begin[sign] == '0' && sign + 1 < length && (is_ten >> (sign + 1) & 1U) != 0;
    const bool whole = others == 0 && sign < length;
    const bool decimal =
        (others & (others - 1)) == 0 && others != 0 && point > sign && point + 1 < length && begin[point] == '.';
    if ((whole | decimal) & !leads_with_zero) [[likely]]
      return true;
  }
  return is_json_number_plainly(begin, end);
}
#else
bool is_json_number(const char* begin, const char* end) noexcept { return is_json_number_plainly(begin, end); }
#endif

NumberFit to_integer(std::string_view text, std::int64_t& value) noexcept { return to_whole(text, value); }

NumberFit to_integer(std::string_view text, std::uint64_t& value) noexcept {
  // "-0" is a number that fits; from_chars knows no sign here.
  if (text == "-0") text.remove_prefix(1);
  return to_whole(text, value);
}

NumberFit to_double(std::string_view text, double& value) noexcept {
  double parsed = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error == std::errc::result_out_of_range) {
    // from_chars calls too small and too large by one name, and strtod asks the locale for the point.
    if (is_large(text)) return NumberFit::out_of_range;
    parsed = text.front() == '-' ? -0.0 : 0.0;
  }
  value = parsed;
  return NumberFit::ok;
}

}  // namespace millrace
