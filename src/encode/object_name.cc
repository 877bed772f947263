// SPDX-License-Identifier: Apache-2.0
#include "millrace/encode/object_name.h"

namespace millrace {

void append_object_name(std::string& out, std::string_view name, NameEncoding encoding) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(c)) {
      out += c;
    } else if (encoding == NameEncoding::percent) {
      out += '%';
      out += kHex[byte >> 4U];
      out += kHex[byte & 0xFU];
    } else if ((byte & 0xC0U) != 0x80U) {  // one '_' for a character, not for each of its bytes
      out += '_';
    }
  }
}

void keep_segment(std::string& path, std::size_t begin, NameEncoding encoding, bool hides_dots) {
  const bool percent = encoding == NameEncoding::percent;
  const std::string_view dot = percent ? "%2E" : "_";
  const std::string_view segment = std::string_view(path).substr(begin);
  if (segment.empty()) {
    path += percent ? "%00" : "_";
  } else if (is_dots(segment)) {
    const bool two = segment.size() == 2;
    path.replace(begin, segment.size(), dot);
    if (two) path += dot;
  } else if (hides_dots && segment.front() == '.') {
    path.replace(begin, 1, dot);
  }
}

}  // namespace millrace
