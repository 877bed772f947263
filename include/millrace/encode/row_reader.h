// SPDX-License-Identifier: Apache-2.0
// RowReader: reads one JSON object into the cells of a row, or says why it is no row of this shape. What a lane checks
// and what a writer converts is read by this same code, so a file of checked records can be converted. One per thread;
// its memory is kept from one row to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/bytes.h"
#include "millrace/base/error.h"
#include "millrace/decode/json_cursor.h"
#include "millrace/encode/row_schema.h"

#pragma GCC visibility push(default)
namespace millrace {

/// One value; which member holds it is for the column's type to say.
struct Cell {
  bool present = false;  ///< false: null
  std::int64_t integer =
      0;                  ///< boolean, int32, int64; timestamp: microseconds, date: days, since 1970; decimal: low half
  std::int64_t high = 0;  ///< decimal: high half
  double real = 0;        ///< float32, float64
  std::string_view text;  ///< string, binary, json
};

class RowReader {
 public:
  enum class Of {
    record,  ///< the record alone; cells of metadata stay null
    line,    ///< what EncodeFormat::rows has made of it
  };
  RowReader(std::shared_ptr<const RowShape> shape, Of of);
  RowReader(const RowReader&) = delete;
  RowReader& operator=(const RowReader&) = delete;

  /// `readable_padding` as in PayloadBatch. False: error() says why.
  [[nodiscard]] bool read(std::string_view document, std::size_t readable_padding);
  /// One for each of RowShape::columns(). Borrows the document and the reader, until the next read().
  [[nodiscard]] std::span<const Cell> cells() const noexcept { return cells_; }
  /// The last record had a field that is no column.
  [[nodiscard]] bool met_unknown() const noexcept { return met_unknown_; }
  /// Class record, with field and byte.
  [[nodiscard, gnu::cold]] Error error() const;
  [[nodiscard]] const std::shared_ptr<const RowShape>& shape() const noexcept { return shape_; }

 private:
  /// Fields by their names, one level of objects each.
  struct Level {
    std::vector<std::string_view> names;
    std::vector<int> slot;   ///< of the cell; -1: none
    std::vector<int> below;  ///< index of the level inside of it; -1: none
    std::uint64_t walk = 0;  ///< changes when what was read of it is forgotten
  };
  /// A field that is no column. Its name lies in extra_names_.
  struct Extra {
    std::size_t name = 0;  ///< where it begins
    std::size_t name_size = 0;
    std::size_t level = 0;
    std::uint64_t walk = 0;  ///< of that level, when it was read
    std::string_view value;
  };

  std::size_t add_level();
  std::size_t add_name(std::size_t level, std::string_view name);
  void add_field(std::size_t level, std::string_view path, int slot);
  [[nodiscard]] bool walk(std::size_t level);
  [[nodiscard]] bool step_inside(std::size_t level, std::string_view name);
  [[nodiscard]] bool take(std::size_t slot);
  [[nodiscard]] bool take_text(const Column& column, Cell& cell);
  [[nodiscard]] bool take_decimal(const Column& column, Cell& cell);
  [[nodiscard]] bool take_exact_double(Cell& cell);
  [[nodiscard]] bool take_unknown(std::size_t level);
  void put_extra();
  [[nodiscard]] bool check_required();
  void forget(std::size_t level);
  [[nodiscard, gnu::cold]] bool refuse(ErrorCode code, std::string words);
  [[gnu::cold]] void inside(std::string_view name);

  const std::shared_ptr<const RowShape> shape_;
  const std::vector<Column> columns_;
  std::vector<Level> levels_;
  std::size_t record_level_ = 0;
  std::size_t first_checked_ = 0;  ///< of the cells; those before it are not looked for
  std::vector<Cell> cells_;
  JsonCursor cursor_;
  JsonCursor of_value_;  ///< of one value, until columns are settled
  ByteBuffer bytes_;     ///< of binary cells
  std::vector<Extra> extras_;
  ByteBuffer extra_names_;
  ByteBuffer extra_;
  std::string prefix_;  ///< of the object that is being read, with its dot
  bool met_unknown_ = false;
  // The fault, when it is not the cursor's.
  bool refused_ = false;
  ErrorCode code_{};
  std::string words_;
  std::string path_;
};

}  // namespace millrace
#pragma GCC visibility pop
