// SPDX-License-Identifier: Apache-2.0
// ValueKind: what a JSON value is by its spelling. Pure.
#pragma once

#include <string_view>

#include "millrace/decode/json_cursor.h"
#include "millrace/encode/row_schema.h"

namespace millrace {

/// Whole numbers up to here, and down to its negative, are doubles without being rounded.
inline constexpr std::int64_t kMostInDouble = std::int64_t{1} << 53U;

struct ValueKind {
  ColumnType type = ColumnType::nothing;  ///< the narrowest that holds it: of null nothing, then those that JSON has
  bool beyond_double = false;             ///< int64: a double would round it
  double real = 0;                        ///< int64, float64
};

/// Of a value that is JSON. Numbers that neither 64 bits nor a double hold, and text that is none for half of a
/// surrogate pair, are json, which keeps how they are spelled. `cursor` is only made use of.
[[nodiscard]] ValueKind kind_of(std::string_view value, JsonCursor& cursor);

}  // namespace millrace
