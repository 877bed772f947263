// SPDX-License-Identifier: Apache-2.0
// UTF-8 as far as configuration and messages need it. Not for the hot path. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string_view>

#pragma GCC visibility push(default)
namespace millrace {

/// Bytes of the code point that `text` begins with; 0 when it begins with none.
[[nodiscard]] std::size_t code_point_size(std::string_view text);
/// Offset of the first byte that is not part of valid UTF-8; npos when all is.
[[nodiscard]] std::size_t first_invalid_utf8(std::string_view text);
/// Code points in valid UTF-8.
[[nodiscard]] std::size_t count_characters(std::string_view text);

}  // namespace millrace
#pragma GCC visibility pop
