// SPDX-License-Identifier: Apache-2.0
// The elements of a sound JSON array, worked out the slow and plain way. For tests and fuzz targets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::json_array {

/// One byte at a time, nothing shared with the framer. `array` is sound, or blank.
inline std::vector<std::string> model_of_array(std::string_view array) {
  std::vector<std::string> elements;
  std::string element;
  int depth = 0;
  bool in_string = false;
  bool escaped = false;
  const auto finish = [&] {
    constexpr std::string_view kBlanks = " \t\r\n";
    if (const std::size_t first = element.find_first_not_of(kBlanks); first != std::string::npos) {
      elements.push_back(element.substr(first, element.find_last_not_of(kBlanks) - first + 1));
    }
    element.clear();
  };
  for (const char byte : array) {
    const bool inside = depth >= 1;
    if (in_string) {
      in_string = escaped || byte != '"';
      escaped = !escaped && byte == '\\';
    } else {
      in_string = byte == '"';
      if (byte == '[' || byte == '{') ++depth;
      if (byte == ']' || byte == '}') --depth;
      if (depth == 0 || (depth == 1 && byte == ',')) {
        finish();
        continue;
      }
    }
    if (inside) element += byte;
  }
  return elements;
}

}  // namespace millrace::json_array
