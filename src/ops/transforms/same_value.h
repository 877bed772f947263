// SPDX-License-Identifier: Apache-2.0
// same_value: whether two JSON values mean the same: numbers by their worth, strings by what they say, objects without
// regard to order (of a key that comes several times the last one counts). Lane thread.
#pragma once

#include "millrace/base/bytes.h"
#include "ops/transforms/document.h"

namespace millrace::transforms {

/// What strings with escapes say.
struct TextScratch {
  ByteBuffer one;
  ByteBuffer other;
};

[[nodiscard]] bool same_value(const Document& a, Token value_a, const Document& b, Token value_b, TextScratch& scratch);

}  // namespace millrace::transforms
