// SPDX-License-Identifier: Apache-2.0
// JsonWalk: is what the tokens say together a JSON value, by the grammar of RFC 8259 and nothing beyond it: any size
// and spelling of numbers, lone surrogates in escapes, repeated keys all pass, as nothing is made of them here.
// Stateless but for JsonKeys.
#pragma once

#include <cstdint>

#include "decode/json_keys.h"
#include "decode/json_tokens.h"

namespace millrace {

/// How deep objects and arrays may lie in each other.
inline constexpr int kMaxJsonDepth = 1024;

/// Checks the value that begins at `token`, which lies `depth` objects and arrays deep. Returns the token behind it;
/// null when it is malformed: `fault` says how.
[[nodiscard]] const std::uint32_t* walk_value(const JsonTokens& tokens, const std::uint32_t* token, int depth,
                                              JsonFault& fault);
/// Checks the whole document: one value and nothing behind it.
[[nodiscard]] bool walk_document(const JsonTokens& tokens, JsonFault& fault);
/// The same, with every key of every object told to `keys`; which keys are repeated is for the caller to ask, and only
/// of a document that is not malformed.
[[nodiscard]] bool walk_document(const JsonTokens& tokens, JsonKeys& keys, JsonFault& fault);

}  // namespace millrace
