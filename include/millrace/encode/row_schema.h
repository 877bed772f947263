// SPDX-License-Identifier: Apache-2.0
// RowSchema: which columns a file of columns has, and what a record's field has to be to stand in each. Values; the
// format that writes them is behind columnar.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"

#pragma GCC visibility push(default)
namespace millrace {

enum class ColumnType : std::uint8_t {
  nothing,    ///< null so far: only while columns are being inferred
  boolean,    ///< true, false
  int32,      ///< a whole number
  int64,      ///< a whole number
  float32,    ///< any number, rounded
  float64,    ///< any number, rounded
  string,     ///< text
  binary,     ///< text in base64 (RFC 4648, padded)
  timestamp,  ///< text as RFC 3339 has it, with its zone; microseconds, UTC
  date,       ///< text: 2026-07-01
  decimal,    ///< a number, or text that is one, that needs no rounding
  json,       ///< any value, as it is spelled
};

struct Column {
  std::string name;
  ColumnType type = ColumnType::nothing;
  bool required = false;       ///< a record without it, or with null, does not fit
  std::uint8_t precision = 0;  ///< decimal: digits, at most 38
  std::uint8_t scale = 0;      ///< decimal: of these, behind the point
  bool beyond_double = false;  ///< int64, until it is settled: had a value that a double would round
  friend bool operator==(const Column&, const Column&) = default;
};

/// "name type" or "name type required": "id int64 required", "price decimal(18,2)". The name may hold blanks.
[[nodiscard]] Result<Column> parse_column(std::string_view text);
[[nodiscard]] std::string to_text(const Column& column);

/// A field can be a column: not too long, UTF-8, and no quote, backslash or control character in it.
[[nodiscard]] bool names_column(std::string_view name) noexcept;

/// What becomes of a field that is no column.
enum class UnknownColumns {
  keep,    ///< it goes with the others like it into the column `_extra`, an object as JSON text
  ignore,  ///< it is left out
  fail,    ///< the record does not fit
};

/// Columns that are none of the record's fields begin so.
inline constexpr std::string_view kOwnColumns = "_";
/// One of them, whether a file has it or not: no field is a column of this name.
[[nodiscard]] bool is_own_column(std::string_view name) noexcept;
/// Inferred columns are no more than these; what else there is is no column.
inline constexpr std::size_t kMostInferred = 1000;

/// Everything that says how a record becomes a row. A value; shared once it is made.
struct RowShape {
  std::vector<Column> fields;    ///< of the record, in the order of the file
  bool dots_lead_inside = true;  ///< of names: "user.id" is the field `id` of the object `user`
  bool settled = true;           ///< no field comes to be added
  bool include_metadata = true;  ///< _offset, _timestamp, _stream, _topic, _partition_id
  bool include_headers = false;  ///< _headers
  UnknownColumns unknown = UnknownColumns::keep;

  /// A file's: metadata in front, then the fields, then _extra.
  [[nodiscard]] std::vector<Column> columns() const;
  /// A record stands in a wrapper, as its `payload`.
  [[nodiscard]] bool wrapped() const noexcept { return include_metadata || include_headers; }
};

/// The shape that these columns make: fails (config) when two of them are one, or one has a name of our own.
[[nodiscard]] Result<void> check_columns(const std::vector<Column>& columns, bool dots_lead_inside = true);

}  // namespace millrace
#pragma GCC visibility pop
