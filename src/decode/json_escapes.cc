// SPDX-License-Identifier: Apache-2.0
#include "decode/json_escapes.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace millrace {
namespace {

constexpr std::array<char, 256> kSimpleEscapes = [] {
  std::array<char, 256> says{};
  says['"'] = '"';
  says['\\'] = '\\';
  says['/'] = '/';
  says['b'] = '\b';
  says['f'] = '\f';
  says['n'] = '\n';
  says['r'] = '\r';
  says['t'] = '\t';
  return says;
}();

constexpr int hex_value(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  const char lower = static_cast<char>(digit | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// The four digits behind "\u"; negative when one is none.
int hex4(const char* digits) noexcept {
  int value = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = hex_value(digits[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

bool escape_is_right(std::string_view document, std::size_t at) noexcept {
  if (at + 1 >= document.size()) return false;
  const char kind = document[at + 1];
  if (kSimpleEscapes[static_cast<unsigned char>(kind)] != 0) [[likely]]
    return true;
  return kind == 'u' && at + 6 <= document.size() && hex4(document.data() + at + 2) >= 0;
}

char* write_utf8(char* out, std::uint32_t point) noexcept {
  const auto put = [&out](std::uint32_t byte) { *out++ = static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0U | point >> 6U);
    put(0x80U | (point & 0x3FU));
  } else if (point < 0x10000) {
    put(0xE0U | point >> 12U);
    put(0x80U | (point >> 6U & 0x3FU));
    put(0x80U | (point & 0x3FU));
  } else {
    put(0xF0U | point >> 18U);
    put(0x80U | (point >> 12U & 0x3FU));
    put(0x80U | (point >> 6U & 0x3FU));
    put(0x80U | (point & 0x3FU));
  }
  return out;
}

constexpr bool is_high(std::uint32_t unit) noexcept { return (unit & 0xFC00U) == 0xD800; }
constexpr bool is_low(std::uint32_t unit) noexcept { return (unit & 0xFC00U) == 0xDC00; }

}  // namespace

EscapeScan scan_escapes_plainly(std::string_view document) {
  EscapeScan scan;
  for (std::size_t i = 0; i < document.size(); ++i) {
    if (document[i] != '\\') continue;
    scan.any = true;
    if (scan.fault == EscapeScan::kNone && !escape_is_right(document, i)) scan.fault = i;
    ++i;
  }
  return scan;
}

#if defined(__SSE2__)
EscapeScan scan_escapes(std::string_view document) {
  EscapeScan scan;
  const __m128i backslash = _mm_set1_epi8('\\');
  const std::size_t size = document.size();
  std::size_t next = 0;  // what lies before it is part of an escape seen already
  for (std::size_t block = 0; block < size; block += 64) {
    __m128i is[4];
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
      const char* at = document.data() + block + 16 * quarter;
      is[quarter] = _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)), backslash);
    }
    // Most blocks have none.
    const __m128i any = _mm_or_si128(_mm_or_si128(is[0], is[1]), _mm_or_si128(is[2], is[3]));
    if (_mm_movemask_epi8(any) == 0) continue;
    std::uint64_t found = 0;
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
      found |= std::uint64_t{static_cast<unsigned>(_mm_movemask_epi8(is[quarter]))} << 16 * quarter;
    }
    for (; found != 0; found &= found - 1) {
      const std::size_t at = block + static_cast<std::size_t>(std::countr_zero(found));
      if (at < next) continue;
      if (at >= size) break;
      scan.any = true;
      next = at + 2;
      if (!escape_is_right(document, at)) [[unlikely]] {
        scan.fault = at;
        return scan;
      }
    }
  }
  return scan;
}
#else
EscapeScan scan_escapes(std::string_view document) { return scan_escapes_plainly(document); }
#endif

bool has_line_breaks(std::string_view text) noexcept {
  return !text.empty() && (std::memchr(text.data(), '\n', text.size()) != nullptr ||
                           std::memchr(text.data(), '\r', text.size()) != nullptr);
}

char* unescape(std::string_view raw, char* out, LoneSurrogates lone) {
  const char* at = raw.data();
  const char* const end = at + raw.size();
  while (at != end) {
    const auto* stop = static_cast<const char*>(std::memchr(at, '\\', static_cast<std::size_t>(end - at)));
    const std::size_t plain = static_cast<std::size_t>((stop == nullptr ? end : stop) - at);
    std::memcpy(out, at, plain);
    out += plain;
    if (stop == nullptr) break;
    if (stop[1] != 'u') {
      *out++ = kSimpleEscapes[static_cast<unsigned char>(stop[1])];
      at = stop + 2;
      continue;
    }
    auto point = static_cast<std::uint32_t>(hex4(stop + 2));
    at = stop + 6;
    if (is_high(point) && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
      const auto second = static_cast<std::uint32_t>(hex4(at + 2));
      if (is_low(second)) {
        point = 0x10000 + ((point & 0x3FFU) << 10U) + (second & 0x3FFU);
        at += 6;
      }
    }
    if (point >= 0xD800 && point < 0xE000 && lone == LoneSurrogates::refuse) return nullptr;
    out = write_utf8(out, point);
  }
  return out;
}

}  // namespace millrace
