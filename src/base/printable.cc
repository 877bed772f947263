// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/printable.h"

#include <fmt/format.h>

#include <algorithm>

#include "millrace/base/utf8.h"

namespace millrace {
namespace {

std::size_t sequence_length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// The code point of one valid UTF-8 sequence.
char32_t code_point(std::string_view sequence) {
  const auto lead = static_cast<unsigned char>(sequence.front());
  char32_t point = sequence.size() == 1 ? lead : lead & (0x7FU >> sequence.size());
  for (const char c : sequence.substr(1)) point = (point << 6U) | (static_cast<unsigned char>(c) & 0x3FU);
  return point;
}

/// Shown as nothing, as an end of line, or as something that moves its neighbours.
bool is_unseen(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0xA0) || c == 0xAD || c == 0x061C || c == 0x180E ||
         (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x2069) || c == 0xFEFF ||
         (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE007F);
}

void append_escaped(std::string& out, std::string_view bytes) {
  for (const char c : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
}

void append_sequence(std::string& out, std::string_view sequence) {
  if (sequence == "\\") {
    out += "\\\\";
  } else if (sequence == "\t") {
    out += "\\t";
  } else if (sequence == "\n") {
    out += "\\n";
  } else if (sequence == "\r") {
    out += "\\r";
  } else if (is_unseen(code_point(sequence))) {
    append_escaped(out, sequence);
  } else {
    out += sequence;
  }
}

}  // namespace

std::string printable(std::string_view bytes, std::size_t limit) {
  const bool cut = bytes.size() > limit;
  if (cut) {
    std::size_t end = limit;  // not within a character
    while (end > 0 && limit - end < 3 && (static_cast<unsigned char>(bytes[end]) & 0xC0U) == 0x80U) --end;
    bytes = bytes.substr(0, end);
  }
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    std::string_view valid = bytes.substr(0, first_invalid_utf8(bytes));
    bytes.remove_prefix(valid.size());
    while (!valid.empty()) {
      const std::size_t length = sequence_length(valid.front());
      append_sequence(out, valid.substr(0, length));
      valid.remove_prefix(length);
    }
    if (bytes.empty()) break;
    append_escaped(out, bytes.substr(0, 1));
    bytes.remove_prefix(1);
  }
  return cut ? out + "..." : out;
}

std::string printable_key(std::string_view key) {
  const std::size_t front = std::min(key.find_first_not_of(' '), key.size());
  const std::size_t back = front == key.size() ? 0 : key.size() - 1 - key.find_last_not_of(' ');
  std::string out;
  append_escaped(out, key.substr(0, front));
  out += printable(key.substr(front, key.size() - front - back));
  append_escaped(out, key.substr(key.size() - back));
  return out;
}

}  // namespace millrace
