// SPDX-License-Identifier: Apache-2.0
// How a name becomes part of an object's key: nothing in it can end its segment, lead to other folders or be hidden.
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace millrace {

/// What becomes of characters other than ASCII letters, digits, '.', '_' and '-'.
enum class NameEncoding {
  replace,  ///< each is a '_'; different names may become the same
  percent,  ///< each of their bytes is a '%' and two hex digits; different names stay different
};

/// Characters that stand in a name as they are, in every key and header.
[[nodiscard]] constexpr bool is_plain(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

/// "." and "..", which are ways to other folders.
[[nodiscard]] constexpr bool is_dots(std::string_view segment) noexcept { return segment == "." || segment == ".."; }

/// Appends `name` as a part of one segment. Allocates only where `out` has to grow.
void append_object_name(std::string& out, std::string_view name, NameEncoding encoding);

/// A segment that values have made empty, dots, or (`hides_dots`: the store lists no name that begins with a dot)
/// hidden is given a name of its own; any other is as it was. `begin`: where it begins in `path`, which it ends.
void keep_segment(std::string& path, std::size_t begin, NameEncoding encoding, bool hides_dots);

}  // namespace millrace
#pragma GCC visibility pop
