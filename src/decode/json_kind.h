// SPDX-License-Identifier: Apache-2.0
// What kind of value begins with a byte, in sound JSON. Stateless.
#pragma once

#include <string_view>

namespace millrace {

[[nodiscard]] constexpr bool begins_number(char first) noexcept {
  return first == '-' || (first >= '0' && first <= '9');
}

/// "an object", for messages.
[[nodiscard]] constexpr std::string_view kind_of(char first) noexcept {
  switch (first) {
    case '"':
      return "a string";
    case '{':
      return "an object";
    case '[':
      return "an array";
    case 't':
    case 'f':
      return "a boolean";
    case 'n':
      return "null";
    default:
      return "a number";
  }
}

}  // namespace millrace
