// SPDX-License-Identifier: Apache-2.0
#include "encode/value_kind.h"

#include <cstdint>
#include <limits>

namespace millrace {

ValueKind kind_of(std::string_view value, JsonCursor& cursor) {
  switch (value.front()) {
    case 'n':
      return {ColumnType::nothing};
    case 't':
    case 'f':
      return {ColumnType::boolean};
    case '"': {
      std::string_view text;
      return {cursor.open(value, 0) && cursor.read(text) ? ColumnType::string : ColumnType::json};
    }
    case '{':
    case '[':
      return {ColumnType::json};
    default:
      break;
  }
  if (value.find_first_of(".eE") == std::string_view::npos) {
    std::int64_t whole = 0;
    using Limits = std::numeric_limits<std::int64_t>;
    if (!cursor.open(value, 0) || !cursor.read(whole, Limits::min(), Limits::max())) return {ColumnType::json};
    return {ColumnType::int64, whole < -kMostInDouble || whole > kMostInDouble, static_cast<double>(whole)};
  }
  double real = 0;
  if (!cursor.open(value, 0) || !cursor.read(real)) return {ColumnType::json};
  return {ColumnType::float64, false, real};
}

}  // namespace millrace
