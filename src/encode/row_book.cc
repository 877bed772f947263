// SPDX-License-Identifier: Apache-2.0
#include "millrace/encode/row_book.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "millrace/decode/json_cursor.h"

namespace millrace {
namespace {

/// What a value is by its spelling, in a column that was `so_far`. A whole number beyond 64 bits keeps its digits as
/// text, unless it comes to numbers that are rounded anyway; so does any number beyond a double.
ColumnType type_of(std::string_view value, ColumnType so_far) {
  switch (value.front()) {
    case 'n':
      return ColumnType::nothing;
    case 't':
    case 'f':
      return ColumnType::boolean;
    case '"':
      return ColumnType::string;
    case '{':
    case '[':
      return ColumnType::json;
    default:
      break;
  }
  JsonCursor number;
  std::int64_t whole = 0;
  double real = 0;
  if (number.open(value, 0) &&
      number.read(whole, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max())) {
    return ColumnType::int64;
  }
  const bool rounds = so_far == ColumnType::float64 || value.find_first_of(".eE") != std::string_view::npos;
  return rounds && number.open(value, 0) && number.read(real) ? ColumnType::float64 : ColumnType::json;
}

ColumnType wider(ColumnType one, ColumnType other) {
  const auto is_number = [](ColumnType type) { return type == ColumnType::int64 || type == ColumnType::float64; };
  if (one == other || other == ColumnType::nothing) return one;
  if (one == ColumnType::nothing) return other;
  return is_number(one) && is_number(other) ? ColumnType::float64 : ColumnType::json;
}

/// Adds what `record` needs; false when it is no JSON object.
bool add_record(std::string_view record, std::vector<Column>& fields) {
  JsonCursor cursor;
  cursor.unknown_fields(UnknownFields::tell);
  if (!cursor.open(record, 0) || !cursor.at_object() || !cursor.enter_object()) return false;
  for (;;) {
    const int field = cursor.next_field(nullptr, 0, 0);
    if (field == JsonCursor::kEnd) return cursor.close();
    if (field != JsonCursor::kUnknown) return false;
    const std::string name(cursor.unknown_key());
    decode::Json value;
    if (!cursor.read(value)) return false;
    if (!names_column(name) || name.starts_with(kOwnColumns)) continue;
    const auto known = std::ranges::find(fields, name, &Column::name);
    if (known != fields.end()) {
      known->type = wider(known->type, type_of(value.view, known->type));
    } else if (fields.size() < kMostInferred) {
      fields.push_back({name, type_of(value.view, ColumnType::nothing)});
    }
  }
}

}  // namespace

std::shared_ptr<const RowShape> RowBook::widen(std::string_view record) {
  const MutexLock lock(mutex_);
  if (shape_->settled) return shape_;
  RowShape next = *shape_;
  if (add_record(record, next.fields) && next.fields != shape_->fields) {
    shape_ = std::make_shared<const RowShape>(std::move(next));
  }
  return shape_;
}

std::shared_ptr<const RowShape> RowBook::settle() {
  const MutexLock lock(mutex_);
  if (shape_->settled) return shape_;
  RowShape next = *shape_;
  next.settled = true;
  // Whatever comes of a field that was null so far.
  for (Column& column : next.fields) {
    if (column.type == ColumnType::nothing) column.type = ColumnType::json;
  }
  shape_ = std::make_shared<const RowShape>(std::move(next));
  return shape_;
}

void RowBook::settle_as(std::vector<Column> fields) {
  const MutexLock lock(mutex_);
  RowShape next = *shape_;
  next.fields = std::move(fields);
  next.settled = true;
  shape_ = std::make_shared<const RowShape>(std::move(next));
}

}  // namespace millrace
