// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/printable.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace millrace {
namespace {

/// Length of the valid UTF-8 sequence at the front of `bytes` (RFC 3629: no surrogates, no overlong forms); 0 if none.
std::size_t sequence_length(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return i < bytes.size() ? static_cast<std::uint8_t>(bytes[i]) : 0U; };
  const auto tail = [&](std::size_t i) { return (at(i) & 0xC0U) == 0x80U; };
  const std::uint32_t first = at(0);
  if (first < 0x80U) return 1;
  if (first >= 0xC2U && first <= 0xDFU) return tail(1) ? 2 : 0;
  if (first >= 0xE0U && first <= 0xEFU) {
    const std::uint32_t least = first == 0xE0U ? 0xA0U : 0x80U;
    const std::uint32_t most = first == 0xEDU ? 0x9FU : 0xBFU;
    return at(1) >= least && at(1) <= most && tail(2) ? 3 : 0;
  }
  if (first >= 0xF0U && first <= 0xF4U) {
    const std::uint32_t least = first == 0xF0U ? 0x90U : 0x80U;
    const std::uint32_t most = first == 0xF4U ? 0x8FU : 0xBFU;
    return at(1) >= least && at(1) <= most && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string printable(std::string_view bytes, std::size_t limit) {
  const bool cut = bytes.size() > limit;
  std::string_view rest = bytes.substr(0, limit);
  std::string text;
  text.reserve(rest.size());
  while (!rest.empty()) {
    const std::size_t length = sequence_length(rest);
    const auto byte = static_cast<std::uint8_t>(rest[0]);
    const bool c1_control = length == 2 && byte == 0xC2U && static_cast<std::uint8_t>(rest[1]) < 0xA0U;
    if (rest[0] == '\\') {
      text += "\\\\";
    } else if (rest[0] == '\t') {
      text += "\\t";
    } else if (rest[0] == '\n') {
      text += "\\n";
    } else if (rest[0] == '\r') {
      text += "\\r";
    } else if (length == 0 || byte < 0x20U || byte == 0x7FU || c1_control) {
      fmt::format_to(std::back_inserter(text), "\\x{:02x}", byte);
      rest.remove_prefix(1);
      continue;
    } else {
      text += rest.substr(0, length);
      rest.remove_prefix(length);
      continue;
    }
    rest.remove_prefix(1);
  }
  if (cut) text += "...";
  return text;
}

}  // namespace millrace
