// SPDX-License-Identifier: Apache-2.0
#include "formats/csv/quote_index.h"

#include <bit>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace millrace::csv {
namespace {

constexpr std::size_t kBlock = 64;

/// One bit a byte.
std::uint64_t marks_of(const char* bytes, char quote) {
  std::uint64_t marks = 0;
#if defined(__SSE2__)
  const __m128i quotes = _mm_set1_epi8(quote);
  const __m128i newlines = _mm_set1_epi8('\n');
  for (std::size_t i = 0; i < 4; ++i) {
    const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 16 * i));
    const __m128i found = _mm_or_si128(_mm_cmpeq_epi8(part, quotes), _mm_cmpeq_epi8(part, newlines));
    marks |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(found))) << (16 * i);
  }
#else
  for (std::size_t i = 0; i < kBlock; ++i) {
    marks |= std::uint64_t{bytes[i] == quote || bytes[i] == '\n'} << i;
  }
#endif
  return marks;
}

}  // namespace

std::size_t find_newlines_and_quotes(const char* bytes, std::size_t size, char quote, std::uint32_t* positions) {
  std::uint32_t* out = positions;
  for (std::size_t at = 0; at < size; at += kBlock) {
    std::uint64_t marks = marks_of(bytes + at, quote);
    if (size - at < kBlock) marks &= (std::uint64_t{1} << (size - at)) - 1;
    for (; marks != 0; marks &= marks - 1) *out++ = static_cast<std::uint32_t>(at) + std::countr_zero(marks);
  }
  return static_cast<std::size_t>(out - positions);
}

}  // namespace millrace::csv
