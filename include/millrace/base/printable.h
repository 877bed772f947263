// SPDX-License-Identifier: Apache-2.0
// Foreign bytes in messages: keys, names and values as a person can read them, without letting them forge a log line.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

/// Valid UTF-8 passes as it is; control characters, backslashes and bytes that are not UTF-8 become \t, \n, \r, \\ or
/// \xNN. At most `limit` bytes of input are shown; "..." stands for the rest.
[[nodiscard]] std::string printable(std::string_view bytes, std::size_t limit = 1200);

}  // namespace millrace
