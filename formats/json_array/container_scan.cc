// SPDX-License-Identifier: Apache-2.0
#include "formats/json_array/container_scan.h"

#include <algorithm>
#include <bit>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace millrace::json_array {
namespace {

constexpr std::size_t kBlock = 64;

/// One bit a byte.
struct Marks {
  std::uint64_t quotes = 0;
  std::uint64_t backslashes = 0;
  std::uint64_t opening = 0;
  std::uint64_t closing = 0;
};

#if defined(__SSE2__)

// `[` and `{`, and `]` and `}`, differ by 0x20 alone, and no other byte becomes one of them with that bit set.
Marks marks_of(const char* bytes) {
  Marks marks;
  for (std::size_t i = 0; i < 4; ++i) {
    const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 16 * i));
    const __m128i folded = _mm_or_si128(part, _mm_set1_epi8(0x20));
    const auto bits = [i](__m128i equal) {
      return static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(equal))) << (16 * i);
    };
    marks.quotes |= bits(_mm_cmpeq_epi8(part, _mm_set1_epi8('"')));
    marks.backslashes |= bits(_mm_cmpeq_epi8(part, _mm_set1_epi8('\\')));
    marks.opening |= bits(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')));
    marks.closing |= bits(_mm_cmpeq_epi8(folded, _mm_set1_epi8('}')));
  }
  return marks;
}

#else

Marks marks_of(const char* bytes) {
  Marks marks;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const char byte = bytes[i];
    marks.quotes |= std::uint64_t{byte == '"'} << i;
    marks.backslashes |= std::uint64_t{byte == '\\'} << i;
    marks.opening |= std::uint64_t{byte == '{' || byte == '['} << i;
    marks.closing |= std::uint64_t{byte == '}' || byte == ']'} << i;
  }
  return marks;
}

#endif

/// Which bytes a backslash escapes, where every second one of a run of backslashes escapes what follows it. The method
/// is that of simdjson. `escaped`: the first byte is; afterwards: the first byte behind the block is.
std::uint64_t escaped_bytes(std::uint64_t backslashes, bool& escaped) {
  constexpr std::uint64_t kEven = 0x5555555555555555U;
  const std::uint64_t first = escaped ? 1 : 0;
  backslashes &= ~first;
  const std::uint64_t follows = backslashes << 1U | first;
  const std::uint64_t odd_starts = backslashes & ~kEven & ~follows;
  std::uint64_t ends = 0;
  escaped = __builtin_add_overflow(odd_starts, backslashes, &ends);
  return (kEven ^ (ends << 1U)) & follows;
}

/// Bit i: whether an odd number of `bits` stands at i or before it.
std::uint64_t parity(std::uint64_t bits) {
  for (unsigned shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

}  // namespace

std::size_t ContainerScan::scan(const char* bytes, std::size_t size) {
  for (std::size_t at = 0; at < size; at += kBlock) {
    Marks marks = marks_of(bytes + at);
    const std::size_t count = std::min(kBlock, size - at);
    if (count < kBlock) {
      const std::uint64_t inside = (std::uint64_t{1} << count) - 1;
      marks = {marks.quotes & inside, marks.backslashes & inside, marks.opening & inside, marks.closing & inside};
    }
    std::uint64_t escaped = 0;
    if (marks.backslashes != 0 || escaped_) [[unlikely]] {
      escaped = escaped_bytes(marks.backslashes, escaped_);
      if (count < kBlock) escaped_ = (escaped >> count & 1U) != 0;
    }
    const std::uint64_t strings = parity(marks.quotes & ~escaped) ^ (in_string_ ? ~std::uint64_t{0} : 0);
    in_string_ = (strings >> (count - 1) & 1U) != 0;
    const std::uint64_t closing = marks.closing & ~strings;
    for (std::uint64_t brackets = (marks.opening | marks.closing) & ~strings; brackets != 0; brackets &= brackets - 1) {
      if ((closing & -brackets & brackets) == 0) {
        ++depth_;
      } else if (--depth_ == 0) {
        closed_ = true;
        return at + static_cast<std::size_t>(std::countr_zero(brackets)) + 1;
      }
    }
  }
  return size;
}

}  // namespace millrace::json_array
