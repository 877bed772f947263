// SPDX-License-Identifier: Apache-2.0
// same_bytes: memcmp for texts as short as keys, where the call would cost more than the comparison. Stateless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace millrace {

namespace detail {
template <class Word>
[[nodiscard]] inline bool same_word(const char* a, const char* b) noexcept {
  Word left;
  Word right;
  std::memcpy(&left, a, sizeof left);
  std::memcpy(&right, b, sizeof right);
  return left == right;
}
/// Both ends of `size` bytes, which overlap when it is no multiple.
template <class Word>
[[nodiscard]] inline bool same_ends(const char* a, const char* b, std::size_t size) noexcept {
  return same_word<Word>(a, b) && same_word<Word>(a + size - sizeof(Word), b + size - sizeof(Word));
}
}  // namespace detail

/// Are the `size` bytes at `a` those at `b`? Reads no others.
[[nodiscard]] inline bool same_bytes(const char* a, const char* b, std::size_t size) noexcept {
  if (size > 16) return std::memcmp(a, b, size) == 0;
  if (size >= 8) return detail::same_ends<std::uint64_t>(a, b, size);
  if (size >= 4) return detail::same_ends<std::uint32_t>(a, b, size);
  if (size >= 2) return detail::same_ends<std::uint16_t>(a, b, size);
  return size == 0 || *a == *b;
}

[[nodiscard]] inline bool same_text(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && same_bytes(a.begin(), b.begin(), a.size());
}

}  // namespace millrace
