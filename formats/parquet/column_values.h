// SPDX-License-Identifier: Apache-2.0
// ColumnValues: the values of one column of a row group, as they lie in memory. Belongs to one converter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "millrace/base/bytes.h"
#include "millrace/encode/row_reader.h"
#include "millrace/encode/row_schema.h"

namespace millrace::parquet_files {

class ColumnValues {
 public:
  explicit ColumnValues(const Column& column);

  [[nodiscard]] const Column& column() const noexcept { return column_; }
  /// Bytes of one value; 0: texts of any length.
  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  /// False, and nothing is added, when the column is required and the cell is null.
  [[nodiscard]] bool add(const Cell& cell);
  /// Memory of what was added.
  [[nodiscard]] std::size_t bytes() const noexcept { return values_.size() + lengths_.size() + levels_.size(); }

  /// One for each row: 1 where there is a value. Empty when the column is required.
  [[nodiscard]] std::span<const std::int16_t> levels() const noexcept;
  /// Of those that are there, one behind the other.
  [[nodiscard]] const char* values() const noexcept { return values_.data(); }
  /// Of texts, in the order of the values.
  [[nodiscard]] std::span<const std::uint32_t> lengths() const noexcept;
  void clear() noexcept;

 private:
  template <class T>
  void put(ByteBuffer& to, T value) {
    to.append({reinterpret_cast<const char*>(&value), sizeof value});
  }
  void put_value(const Cell& cell);
  void put_decimal(const Cell& cell);

  const Column column_;
  const std::size_t width_;
  ByteBuffer values_;
  ByteBuffer lengths_;
  ByteBuffer levels_;
};

/// Bytes that a decimal of so many digits takes in a file.
[[nodiscard]] std::size_t decimal_width(int precision) noexcept;

}  // namespace millrace::parquet_files
