// SPDX-License-Identifier: Apache-2.0
#include "millrace/encode/row_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "encode/cell_text.h"
#include "encode/value_kind.h"
#include "millrace/base/printable.h"
#include "millrace/decode/json_checker.h"
#include "millrace/encode/json_writer.h"

namespace millrace {
namespace {

constexpr std::size_t kShown = 60;

std::string_view words_of(ColumnType type) {
  switch (type) {
    case ColumnType::binary:
      return "base64 (RFC 4648, padded)";
    case ColumnType::timestamp:
      return "a time as in 2026-07-01T12:00:00.123456Z, in microseconds at the finest";
    case ColumnType::date:
      return "a day as in 2026-07-01";
    default:
      return "text";
  }
}

}  // namespace

RowReader::RowReader(std::shared_ptr<const RowShape> shape, Of of)
    : shape_(std::move(shape)), columns_(shape_->columns()), cells_(columns_.size()) {
  cursor_.unknown_fields(UnknownFields::tell);
  std::size_t slot = 0;
  const std::size_t top = add_level();
  const bool in_wrapper = of == Of::line && shape_->wrapped();
  if (in_wrapper) {
    record_level_ = add_level();
    const std::size_t payload = add_name(top, "payload");
    levels_[top].below[payload] = static_cast<int>(record_level_);
  }
  const std::size_t own = columns_.size() - shape_->fields.size() - (shape_->unknown == UnknownColumns::keep ? 1 : 0);
  // Metadata of a record alone is not looked for.
  if (of == Of::record) first_checked_ = own;
  for (; slot < own; ++slot) {
    if (!in_wrapper) continue;
    const std::size_t at = add_name(top, std::string_view(columns_[slot].name).substr(kOwnColumns.size()));
    levels_[top].slot[at] = static_cast<int>(slot);
  }
  for (std::size_t i = 0; i < shape_->fields.size(); ++i, ++slot) {
    add_field(record_level_, columns_[slot].name, static_cast<int>(slot));
  }
}

std::size_t RowReader::add_level() {
  levels_.emplace_back();
  return levels_.size() - 1;
}

std::size_t RowReader::add_name(std::size_t level, std::string_view name) {
  Level& fields = levels_[level];
  const auto known = std::ranges::find(fields.names, name);
  const auto at = static_cast<std::size_t>(known - fields.names.begin());
  if (known == fields.names.end()) {
    fields.names.push_back(name);
    fields.slot.push_back(-1);
    fields.below.push_back(-1);
  }
  return at;
}

void RowReader::add_field(std::size_t level, std::string_view path, int slot) {
  for (;;) {
    const std::size_t dot = shape_->dots_lead_inside ? path.find('.') : std::string_view::npos;
    const std::size_t at = add_name(level, path.substr(0, dot));
    if (dot == std::string_view::npos) {
      levels_[level].slot[at] = slot;
      return;
    }
    if (levels_[level].below[at] < 0) {
      const std::size_t below = add_level();
      levels_[level].below[at] = static_cast<int>(below);
    }
    level = static_cast<std::size_t>(levels_[level].below[at]);
    path.remove_prefix(dot + 1);
  }
}

bool RowReader::read(std::string_view document, std::size_t readable_padding) {
  for (Cell& cell : cells_) cell = {};
  bytes_.clear();
  extras_.clear();
  extra_names_.clear();
  prefix_.clear();
  path_.clear();
  refused_ = met_unknown_ = false;
  if (!cursor_.open(document, readable_padding)) return false;
  // Views of it are handed out, so it must not move while the document lasts.
  bytes_.reserve(document.size());
  if (!walk(0) || !cursor_.close() || !check_required()) return false;
  if (!extras_.empty()) [[unlikely]]
    put_extra();
  return true;
}

bool RowReader::walk(std::size_t level) {
  const Level& fields = levels_[level];
  const int count = static_cast<int>(fields.names.size());
  if (!cursor_.enter_object()) return false;
  for (int expected = 0;;) {
    const int field = cursor_.next_field(fields.names.data(), count, expected);
    if (field == JsonCursor::kEnd) return true;
    if (field == JsonCursor::kFault) return false;
    if (field == JsonCursor::kUnknown) {
      if (!take_unknown(level)) return false;
      continue;
    }
    expected = field + 1;
    const auto at = static_cast<std::size_t>(field);
    const bool taken = fields.below[at] >= 0 ? step_inside(static_cast<std::size_t>(fields.below[at]), fields.names[at])
                                             : take(static_cast<std::size_t>(fields.slot[at]));
    if (taken) continue;
    // What stands around the record is not the reader's of the message.
    if (level >= record_level_) inside(fields.names[at]);
    return false;
  }
}

bool RowReader::step_inside(std::size_t level, std::string_view name) {
  // Of a name that comes twice the last counts.
  forget(level);
  if (level != record_level_ && cursor_.take_null()) return true;
  const std::size_t before = prefix_.size();
  if (level > record_level_) prefix_.append(name).push_back('.');
  const bool walked = walk(level);
  prefix_.resize(before);
  return walked;
}

void RowReader::forget(std::size_t level) {
  ++levels_[level].walk;
  for (std::size_t i = 0; i < levels_[level].names.size(); ++i) {
    if (const int slot = levels_[level].slot[i]; slot >= 0) cells_[static_cast<std::size_t>(slot)].present = false;
    if (const int below = levels_[level].below[i]; below >= 0) forget(static_cast<std::size_t>(below));
  }
}

bool RowReader::take(std::size_t slot) {
  Cell& cell = cells_[slot];
  const Column& column = columns_[slot];
  cell.present = false;
  if (cursor_.take_null()) return true;
  bool taken = false;
  switch (column.type) {
    case ColumnType::nothing:
      return refuse(ErrorCode::wrong_type, "expected null");
    case ColumnType::boolean: {
      bool value = false;
      taken = cursor_.read(value);
      cell.integer = value ? 1 : 0;
      break;
    }
    case ColumnType::int32:
      taken = cursor_.read(cell.integer, std::numeric_limits<std::int32_t>::min(),
                           std::numeric_limits<std::int32_t>::max());
      break;
    case ColumnType::int64: {
      // The first that a double would round is told to the book, as if it did not fit.
      const bool any = shape_->settled || column.beyond_double;
      taken = cursor_.read(cell.integer, any ? std::numeric_limits<std::int64_t>::min() : -kMostInDouble,
                           any ? std::numeric_limits<std::int64_t>::max() : kMostInDouble);
      break;
    }
    case ColumnType::float32: {
      float value = 0;
      taken = cursor_.read(value);
      cell.real = value;
      break;
    }
    case ColumnType::float64:
      taken = shape_->settled ? cursor_.read(cell.real) : take_exact_double(cell);
      break;
    case ColumnType::string:
      taken = cursor_.read(cell.text);
      break;
    case ColumnType::binary:
    case ColumnType::timestamp:
    case ColumnType::date:
      taken = take_text(column, cell);
      break;
    case ColumnType::decimal:
      taken = take_decimal(column, cell);
      break;
    case ColumnType::json: {
      decode::Json value;
      taken = cursor_.read(value);
      cell.text = value.view;
      break;
    }
  }
  cell.present = taken;
  return taken;
}

/// While columns are being inferred no whole number is rounded: the column becomes another.
bool RowReader::take_exact_double(Cell& cell) {
  decode::Json value;
  if (!cursor_.read(value)) return false;
  const ValueKind kind = kind_of(value.view, of_value_);
  cell.real = kind.real;
  const bool holds = kind.type == ColumnType::float64 || (kind.type == ColumnType::int64 && !kind.beyond_double);
  return holds || refuse(ErrorCode::wrong_type,
                         fmt::format("expected a number that a double holds, found {}", printable(value.view, kShown)));
}

bool RowReader::take_text(const Column& column, Cell& cell) {
  std::string_view text;
  if (!cursor_.read(text)) return false;
  bool means = false;
  if (column.type == ColumnType::binary) {
    const std::size_t before = bytes_.size();
    means = append_from_base64(bytes_, text);
    cell.text = bytes_.view().substr(before);
  } else if (column.type == ColumnType::timestamp) {
    const auto micros = read_timestamp(text);
    means = micros.has_value();
    cell.integer = micros.value_or(0);
  } else {
    const auto days = read_date(text);
    means = days.has_value();
    cell.integer = days.value_or(0);
  }
  if (means) return true;
  return refuse(ErrorCode::wrong_type,
                fmt::format("expected {}, found \"{}\"", words_of(column.type), printable(text, kShown)));
}

bool RowReader::take_decimal(const Column& column, Cell& cell) {
  decode::Json value;
  if (!cursor_.read(value)) return false;
  const std::string_view text = value.view.starts_with('"') ? value.view.substr(1, value.view.size() - 2) : value.view;
  const auto number = read_decimal(text, column.precision, column.scale);
  if (!number) {
    return refuse(ErrorCode::wrong_type,
                  fmt::format("expected a number of at most {} digits, {} of them behind the point, found {}",
                              column.precision, column.scale, printable(value.view, kShown)));
  }
  cell.high = number->high;
  cell.integer = static_cast<std::int64_t>(number->low);
  return true;
}

/// The cursor stands before the value of a field that is no column.
bool RowReader::take_unknown(std::size_t level) {
  met_unknown_ = true;
  const std::string_view key = cursor_.unknown_key();
  if (shape_->unknown == UnknownColumns::fail) {
    const std::string name(key);
    const bool refused = refuse(ErrorCode::unknown_field,
                                "is no column; with on_unknown_field: keep it would be kept in the column _extra");
    inside(name);
    return refused;
  }
  if (shape_->unknown == UnknownColumns::keep) {
    if (!is_utf8_text(key)) {
      const std::string name(key);
      const bool refused = refuse(ErrorCode::wrong_type, "has half of a surrogate pair in its name");
      inside(name);
      return refused;
    }
    Extra extra{.name = extra_names_.size(), .level = level, .walk = levels_[level].walk};
    extra_names_.append(prefix_);
    extra_names_.append(key);
    extra.name_size = extra_names_.size() - extra.name;
    extras_.push_back(extra);
  }
  decode::Json value;
  if (!cursor_.read(value)) return false;
  if (shape_->unknown == UnknownColumns::keep) extras_.back().value = value.view;
  return true;
}

/// Of a name that comes twice the last counts, as it does of columns.
void RowReader::put_extra() {
  std::erase_if(extras_, [this](const Extra& extra) { return extra.walk != levels_[extra.level].walk; });
  const std::string_view names = extra_names_.view();
  const auto name_of = [names](const Extra& extra) { return names.substr(extra.name, extra.name_size); };
  if (extras_.size() > 1) {
    std::ranges::sort(extras_, [&](const Extra& one, const Extra& other) {
      if (one.name_size != other.name_size) return one.name_size < other.name_size;
      const int order = name_of(one).compare(name_of(other));
      return order != 0 ? order < 0 : one.name > other.name;
    });
    const auto repeated = std::ranges::unique(extras_, {}, name_of);
    extras_.erase(repeated.begin(), repeated.end());
    std::ranges::sort(extras_, {}, &Extra::name);
  }
  if (extras_.empty()) return;
  extra_.clear();
  for (const Extra& extra : extras_) {
    extra_.push_back(&extra == extras_.data() ? '{' : ',');
    append_json_string(extra_, name_of(extra));
    extra_.push_back(':');
    extra_.append(extra.value);
  }
  extra_.push_back('}');
  cells_.back().present = true;
  cells_.back().text = extra_.view();
}

bool RowReader::check_required() {
  for (std::size_t slot = first_checked_; slot < columns_.size(); ++slot) {
    const Column& column = columns_[slot];
    if (!column.required || cells_[slot].present) continue;
    const bool refused = refuse(ErrorCode::missing_field, "is required, and absent or null");
    inside(column.name);
    return refused;
  }
  return true;
}

bool RowReader::refuse(ErrorCode code, std::string words) {
  refused_ = true;
  code_ = code;
  words_ = std::move(words);
  return false;
}

void RowReader::inside(std::string_view name) {
  if (!refused_) return cursor_.inside_field(name);
  path_ = path_.empty() ? printable(name, 200) : printable(name, 200) + "." + path_;
}

Error RowReader::error() const {
  if (!refused_) return cursor_.error();
  return Error::record(code_, fmt::format("field '{}': {}", path_, words_));
}

}  // namespace millrace
