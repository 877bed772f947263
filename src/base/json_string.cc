// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/json_string.h"

#include <bit>
#include <cstddef>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace millrace {
namespace {

bool needs_escape(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

// Bytes at the front of `text` that stand for themselves in a JSON string.
std::size_t plain_prefix(std::string_view text) noexcept {
  std::size_t at = 0;
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i last_control = _mm_set1_epi8(0x1F);
  for (; at + 16 <= text.size(); at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, last_control), bytes);
    const __m128i special =
        _mm_or_si128(control, _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));
    if (const int found = _mm_movemask_epi8(special); found != 0) {
      return at + static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(found)));
    }
  }
#endif
  while (at < text.size() && !needs_escape(text[at])) ++at;
  return at;
}

void append_escape(ByteBuffer& out, char c) {
  switch (c) {
    case '"':
      return out.append("\\\"");
    case '\\':
      return out.append("\\\\");
    case '\b':
      return out.append("\\b");
    case '\f':
      return out.append("\\f");
    case '\n':
      return out.append("\\n");
    case '\r':
      return out.append("\\r");
    case '\t':
      return out.append("\\t");
    default: {
      constexpr std::string_view kHex = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      const char text[6] = {'\\', 'u', '0', '0', kHex[byte >> 4U], kHex[byte & 15U]};
      return out.append({text, sizeof text});
    }
  }
}

}  // namespace

void append_json_escaped(ByteBuffer& out, std::string_view text) {
  for (;;) {
    const std::size_t plain = plain_prefix(text);
    out.append(text.substr(0, plain));
    if (plain == text.size()) return;
    append_escape(out, text[plain]);
    text.remove_prefix(plain + 1);
  }
}

void append_json_string(ByteBuffer& out, std::string_view text) {
  out.push_back('"');
  append_json_escaped(out, text);
  out.push_back('"');
}

}  // namespace millrace
