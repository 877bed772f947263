// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/utf8.h"

namespace millrace {

std::size_t code_point_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  const unsigned lead = byte(0);
  std::size_t size = 1;
  unsigned low = 0x80;
  unsigned high = 0xBF;  // range of the second byte: excludes overlong forms, surrogates and what is above U+10FFFF
  if (lead >= 0xC2 && lead <= 0xDF) {
    size = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    size = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    size = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else if (lead >= 0x80) {
    return 0;
  }
  if (size > text.size()) return 0;
  for (std::size_t k = 1; k < size; ++k) {
    if (byte(k) < low || byte(k) > high) return 0;
    low = 0x80;
    high = 0xBF;
  }
  return size;
}

std::size_t first_invalid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = code_point_size(text.substr(i));
    if (size == 0) return i;
    i += size;
  }
  return std::string_view::npos;
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  return count;
}

}  // namespace millrace
