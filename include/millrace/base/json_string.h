// SPDX-License-Identifier: Apache-2.0
// Text as a JSON string, escaped as little as JSON allows. Pure functions; any thread.
#pragma once

#include <string_view>

#include "millrace/base/bytes.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Appends `text`, which is UTF-8, in quotes.
void append_json_string(ByteBuffer& out, std::string_view text);
/// Appends what stands between the quotes.
void append_json_escaped(ByteBuffer& out, std::string_view text);

}  // namespace millrace
#pragma GCC visibility pop
