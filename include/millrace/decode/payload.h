// SPDX-License-Identifier: Apache-2.0
// What untyped decoders yield: views of a payload that say what is known about its bytes. They borrow the batch; all
// convert to std::string_view.
#pragma once

#include <cstddef>
#include <string_view>

#include "millrace/base/bytes.h"

#pragma GCC visibility push(default)
namespace millrace::decode {

/// Bytes as they came; nothing is known about them.
struct Bytes {
  std::string_view view;
  std::size_t readable_padding = 0;  ///< bytes behind the view that may be read; kBytePadding saves a copy
  operator std::string_view() const noexcept { return view; }
};

/// Sound UTF-8.
struct Text {
  std::string_view view;
  operator std::string_view() const noexcept { return view; }
};

/// One sound JSON document, spelled as it came: number spelling, key order, repeated keys and blanks are kept.
struct Json {
  std::string_view view;
  bool may_break_lines = true;  ///< false: no CR or LF in it, so it can be a line as it is
  operator std::string_view() const noexcept { return view; }
};

/// Only space, tab, CR, VT and FF, or nothing: what makes a line no record.
[[nodiscard]] constexpr bool is_blank(std::string_view line) noexcept {
  return line.find_first_not_of(" \t\r\v\f") == std::string_view::npos;
}

}  // namespace millrace::decode
#pragma GCC visibility pop
