// SPDX-License-Identifier: Apache-2.0
#include "formats/parquet/column_values.h"

#include <array>

namespace millrace::parquet_files {
namespace {

std::size_t width_of(const Column& column) noexcept {
  switch (column.type) {
    case ColumnType::boolean:
      return sizeof(bool);
    case ColumnType::int32:
    case ColumnType::date:
      return sizeof(std::int32_t);
    case ColumnType::int64:
    case ColumnType::timestamp:
      return sizeof(std::int64_t);
    case ColumnType::float32:
      return sizeof(float);
    case ColumnType::float64:
      return sizeof(double);
    case ColumnType::decimal:
      return decimal_width(column.precision);
    case ColumnType::nothing:
    case ColumnType::string:
    case ColumnType::binary:
    case ColumnType::json:
      break;
  }
  return 0;
}

}  // namespace

std::size_t decimal_width(int precision) noexcept {
  // The least number of bytes whose largest signed number has so many nines.
  std::size_t bytes = 1;
  for (long double most = 128; bytes < 16; ++bytes, most *= 256) {
    long double nines = 1;
    for (int i = 0; i < precision; ++i) nines *= 10;
    if (nines <= most) break;
  }
  return bytes;
}

ColumnValues::ColumnValues(const Column& column) : column_(column), width_(width_of(column)) {}

bool ColumnValues::add(const Cell& cell) {
  // A required column has no levels: each row is read from its values.
  if (column_.required && !cell.present) return false;
  if (!column_.required) put(levels_, static_cast<std::int16_t>(cell.present));
  if (cell.present) put_value(cell);
  return true;
}

void ColumnValues::put_value(const Cell& cell) {
  switch (column_.type) {
    case ColumnType::boolean:
      return put(values_, cell.integer != 0);
    case ColumnType::int32:
    case ColumnType::date:
      return put(values_, static_cast<std::int32_t>(cell.integer));
    case ColumnType::int64:
    case ColumnType::timestamp:
      return put(values_, cell.integer);
    case ColumnType::float32:
      return put(values_, static_cast<float>(cell.real));
    case ColumnType::float64:
      return put(values_, cell.real);
    case ColumnType::decimal:
      return put_decimal(cell);
    case ColumnType::nothing:
    case ColumnType::string:
    case ColumnType::binary:
    case ColumnType::json:
      break;
  }
  put(lengths_, static_cast<std::uint32_t>(cell.text.size()));
  values_.append(cell.text);
}

/// Two's complement, the most significant byte first.
void ColumnValues::put_decimal(const Cell& cell) {
  std::array<char, 16> bytes{};
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[7 - i] = static_cast<char>(static_cast<std::uint64_t>(cell.high) >> (8 * i));
    bytes[15 - i] = static_cast<char>(static_cast<std::uint64_t>(cell.integer) >> (8 * i));
  }
  values_.append({bytes.data() + bytes.size() - width_, width_});
}

std::span<const std::int16_t> ColumnValues::levels() const noexcept {
  return {reinterpret_cast<const std::int16_t*>(levels_.data()), levels_.size() / sizeof(std::int16_t)};
}

std::span<const std::uint32_t> ColumnValues::lengths() const noexcept {
  return {reinterpret_cast<const std::uint32_t*>(lengths_.data()), lengths_.size() / sizeof(std::uint32_t)};
}

void ColumnValues::clear() noexcept {
  values_.clear();
  lengths_.clear();
  levels_.clear();
}

}  // namespace millrace::parquet_files
