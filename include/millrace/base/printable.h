// SPDX-License-Identifier: Apache-2.0
// Foreign bytes in messages: keys, names and values as a person can read them, without letting them forge a log line,
// move the cursor or hide. Pure functions; any thread; not for the hot path.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace millrace {

/// Valid UTF-8 passes as it is; control characters, characters that are not seen or turn the direction of text,
/// backslashes and bytes that are not UTF-8 become \t, \n, \r, \\ or \xNN. Two inputs that are shown whole never look
/// alike. At most `limit` bytes of input are shown; "..." stands for the rest.
[[nodiscard]] std::string printable(std::string_view bytes, std::size_t limit = 1200);

/// The same for an object key or a path, where a space at either end must be seen too: "in/a " is `in/a\x20`.
[[nodiscard]] std::string printable_key(std::string_view key);

}  // namespace millrace
#pragma GCC visibility pop
