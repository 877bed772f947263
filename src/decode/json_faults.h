// SPDX-License-Identifier: Apache-2.0
// A JsonFault in words, with a guess at what was meant. For messages only.
#pragma once

#include <string>
#include <string_view>

#include "decode/json_tokens.h"
#include "millrace/base/error.h"

namespace millrace {

/// "not valid JSON at byte 7: expected ':' behind the key; <hint>", class record.
[[nodiscard]] Error json_error(const JsonFault& fault, std::string_view document);
/// What a person may have meant by a document that is malformed; empty when nothing comes to mind.
[[nodiscard]] std::string json_hint(const JsonFault& fault, std::string_view document);

}  // namespace millrace
