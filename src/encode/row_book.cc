// SPDX-License-Identifier: Apache-2.0
#include "millrace/encode/row_book.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "encode/value_kind.h"
#include "millrace/decode/json_cursor.h"

namespace millrace {
namespace {

/// `column`, with room for a value of that kind. Whatever the order in which they come, the same values make the same.
Column wider(Column column, const ValueKind& kind) {
  const auto is_number = [](ColumnType type) { return type == ColumnType::int64 || type == ColumnType::float64; };
  if (kind.type == ColumnType::nothing) return column;
  column.beyond_double = column.beyond_double || kind.beyond_double;
  if (column.type == ColumnType::nothing || column.type == kind.type) {
    column.type = kind.type;
  } else if (is_number(column.type) && is_number(kind.type) && !column.beyond_double) {
    column.type = ColumnType::float64;
  } else {
    column.type = ColumnType::json;
  }
  if (column.type != ColumnType::int64) column.beyond_double = false;
  return column;
}

/// Fields that are copied once one of them changes.
class Fields {
 public:
  explicit Fields(const std::vector<Column>& fields) : fields_(&fields) {}

  void add(std::string_view name, const ValueKind& kind) {
    const auto known = std::ranges::find(*fields_, name, &Column::name);
    const auto at = static_cast<std::size_t>(known - fields_->begin());
    if (known == fields_->end()) {
      if (fields_->size() < kMostInferred) own().push_back(wider({std::string(name)}, kind));
    } else if (Column next = wider(*known, kind); next != *known) {
      own()[at] = std::move(next);
    }
  }
  [[nodiscard]] std::optional<std::vector<Column>> take_changed() { return std::exchange(changed_, std::nullopt); }

 private:
  std::vector<Column>& own() {
    if (!changed_) fields_ = &changed_.emplace(*fields_);
    return *changed_;
  }

  const std::vector<Column>* fields_;
  std::optional<std::vector<Column>> changed_;
};

/// Adds what `record` needs; false when it is no JSON object.
bool add_record(std::string_view record, Fields& fields) {
  JsonCursor cursor;
  JsonCursor of_value;
  cursor.unknown_fields(UnknownFields::tell);
  if (!cursor.open(record, 0) || !cursor.at_object() || !cursor.enter_object()) return false;
  for (;;) {
    const int field = cursor.next_field(nullptr, 0, 0);
    if (field == JsonCursor::kEnd) return cursor.close();
    if (field != JsonCursor::kUnknown) return false;
    const std::string_view name = cursor.unknown_key();
    decode::Json value;
    if (!cursor.read(value)) return false;
    if (names_column(name) && !is_own_column(name)) fields.add(name, kind_of(value.view, of_value));
  }
}

}  // namespace

std::shared_ptr<const RowShape> widened(const std::shared_ptr<const RowShape>& shape, std::string_view record) {
  if (shape->settled) return shape;
  Fields fields(shape->fields);
  if (!add_record(record, fields)) return shape;
  auto changed = fields.take_changed();
  if (!changed) return shape;
  RowShape next = *shape;
  next.fields = *std::move(changed);
  return std::make_shared<const RowShape>(std::move(next));
}

bool RowBook::replace(const std::shared_ptr<const RowShape>& from, std::shared_ptr<const RowShape> to) {
  const MutexLock lock(mutex_);
  if (shape_ != from) return false;
  shape_ = std::move(to);
  return true;
}

std::shared_ptr<const RowShape> RowBook::settle() {
  const MutexLock lock(mutex_);
  if (shape_->settled) return shape_;
  RowShape next = *shape_;
  next.settled = true;
  // Whatever comes of a field that was null so far.
  for (Column& column : next.fields) {
    if (column.type == ColumnType::nothing) column.type = ColumnType::json;
    column.beyond_double = false;
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
