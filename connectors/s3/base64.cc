// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/base64.h"

#include <array>
#include <cstdint>

namespace millrace::s3_source {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = bytes.size() - i < 3 ? bytes.size() - i : 3;
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = (group << 8U) | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += j <= count ? kAlphabet[(group >> (18U - 6U * j)) & 63U] : '=';
    }
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const std::size_t digits = text[i + 3] != '=' ? 4 : text[i + 2] != '=' ? 3 : 2;
    if (digits < 4 && i + 4 != text.size()) return std::nullopt;
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const std::size_t value = j < digits ? kAlphabet.find(text[i + j]) : 0;
      if (value == std::string_view::npos) return std::nullopt;
      group = (group << 6U) | static_cast<std::uint32_t>(value);
    }
    for (std::size_t j = 0; j + 1 < digits; ++j) bytes += static_cast<char>((group >> (16U - 8U * j)) & 0xFFU);
  }
  if (to_base64(bytes) != text) return std::nullopt;  // bits that the padding hides
  return bytes;
}

}  // namespace millrace::s3_source
