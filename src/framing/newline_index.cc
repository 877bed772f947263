// SPDX-License-Identifier: Apache-2.0
#include "framing/newline_index.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace millrace::framing {
namespace {

std::size_t find_with_memchr(const char* bytes, std::size_t size, std::uint32_t* positions) {
  std::uint32_t* out = positions;
  const char* at = bytes;
  const char* const end = bytes + size;
  while (at != end) {
    const auto* found = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    if (found == nullptr) break;
    *out++ = static_cast<std::uint32_t>(found - bytes);
    at = found + 1;
  }
  return static_cast<std::size_t>(out - positions);
}

#if defined(__x86_64__)

// A block of 64 bytes holds no newline or one where lines are of usual length, so one position is written without a
// branch, and only further ones cost one.
#define MILLRACE_WRITE_POSITIONS(mask, base)                                \
  do {                                                                      \
    *out = (base) + static_cast<std::uint32_t>(std::countr_zero(mask));     \
    out += (mask) != 0;                                                     \
    (mask) &= (mask) - 1;                                                   \
    while ((mask) != 0) [[unlikely]] {                                      \
      *out++ = (base) + static_cast<std::uint32_t>(std::countr_zero(mask)); \
      (mask) &= (mask) - 1;                                                 \
    }                                                                       \
  } while (false)

#define MILLRACE_AVX2 __attribute__((target("avx2,bmi")))

MILLRACE_AVX2 inline __m256i newlines_of_32(const char* at) {
  return _mm256_cmpeq_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)), _mm256_set1_epi8('\n'));
}
MILLRACE_AVX2 inline std::uint64_t mask_of(__m256i low, __m256i high) {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(low)) |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(high))) << 32U;
}

MILLRACE_AVX2 std::size_t find_with_avx2(const char* bytes, std::size_t size, std::uint32_t* positions) {
  std::uint32_t* out = positions;
  std::size_t i = 0;
  // Long lines: 256 bytes without a newline cost eight compares and one branch.
  for (; i + 256 <= size; i += 256) {
    __m256i found[8];
    for (std::size_t k = 0; k < 8; ++k) found[k] = newlines_of_32(bytes + i + 32 * k);
    const __m256i any =
        _mm256_or_si256(_mm256_or_si256(_mm256_or_si256(found[0], found[1]), _mm256_or_si256(found[2], found[3])),
                        _mm256_or_si256(_mm256_or_si256(found[4], found[5]), _mm256_or_si256(found[6], found[7])));
    if (_mm256_testz_si256(any, any) != 0) continue;
    for (std::size_t k = 0; k < 4; ++k) {
      std::uint64_t mask = mask_of(found[2 * k], found[2 * k + 1]);
      MILLRACE_WRITE_POSITIONS(mask, static_cast<std::uint32_t>(i + 64 * k));
    }
  }
  for (; i < size; i += 64) {
    std::uint64_t mask = mask_of(newlines_of_32(bytes + i), newlines_of_32(bytes + i + 32));
    if (size - i < 64) mask &= (std::uint64_t{1} << (size - i)) - 1;
    MILLRACE_WRITE_POSITIONS(mask, static_cast<std::uint32_t>(i));
  }
  return static_cast<std::size_t>(out - positions);
}

#define MILLRACE_AVX512 __attribute__((target("avx512bw,bmi")))

MILLRACE_AVX512 inline std::uint64_t newlines_of_64(const char* at) {
  return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(at), _mm512_set1_epi8('\n'));
}

// One compare gives the mask of a block, so nothing is gained by asking first whether there is anything in it.
MILLRACE_AVX512 std::size_t find_with_avx512(const char* bytes, std::size_t size, std::uint32_t* positions) {
  std::uint32_t* out = positions;
  std::size_t i = 0;
  for (; i + 64 <= size; i += 64) {
    std::uint64_t mask = newlines_of_64(bytes + i);
    MILLRACE_WRITE_POSITIONS(mask, static_cast<std::uint32_t>(i));
  }
  if (i < size) {
    std::uint64_t mask = newlines_of_64(bytes + i) & ((std::uint64_t{1} << (size - i)) - 1);
    MILLRACE_WRITE_POSITIONS(mask, static_cast<std::uint32_t>(i));
  }
  return static_cast<std::size_t>(out - positions);
}

inline __m128i newlines_of_16(const char* at) {
  return _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)), _mm_set1_epi8('\n'));
}

std::size_t find_with_sse2(const char* bytes, std::size_t size, std::uint32_t* positions) {
  std::uint32_t* out = positions;
  for (std::size_t i = 0; i < size; i += 64) {
    __m128i found[4];
    for (std::size_t k = 0; k < 4; ++k) found[k] = newlines_of_16(bytes + i + 16 * k);
    const __m128i any = _mm_or_si128(_mm_or_si128(found[0], found[1]), _mm_or_si128(found[2], found[3]));
    if (_mm_movemask_epi8(any) == 0) continue;
    std::uint64_t mask = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      mask |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(found[k]))) << (16 * k);
    }
    if (size - i < 64) mask &= (std::uint64_t{1} << (size - i)) - 1;
    if (mask != 0) MILLRACE_WRITE_POSITIONS(mask, static_cast<std::uint32_t>(i));
  }
  return static_cast<std::size_t>(out - positions);
}

#undef MILLRACE_AVX2
#undef MILLRACE_AVX512
#undef MILLRACE_WRITE_POSITIONS
#endif

std::array<FindNewlines, 5> candidates() noexcept {
  std::array<FindNewlines, 5> found{find_with_memchr};
#if defined(__x86_64__)
  found[1] = find_with_sse2;
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi")) found[2] = find_with_avx2;
  if (found[2] != nullptr && __builtin_cpu_supports("avx512bw")) found[3] = find_with_avx512;
#endif
  return found;
}

}  // namespace

const FindNewlines* all_find_newlines() noexcept {
  static const std::array<FindNewlines, 5> all = candidates();
  return all.data();
}

FindNewlines find_newlines() noexcept {
  const FindNewlines* last = all_find_newlines();
  while (last[1] != nullptr) ++last;
  return *last;
}

}  // namespace millrace::framing
