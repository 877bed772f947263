// SPDX-License-Identifier: Apache-2.0
// ColumnarConverter: makes a file of columns of the lines that RowsFormat has written. The seam between a sink, which
// knows when a file is whole, and a format whose library the engine and the connectors do not name; the program joins
// them (millrace/formats/parquet.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/codec/decompressor.h"
#include "millrace/encode/row_schema.h"

#pragma GCC visibility push(default)
namespace millrace {

struct ColumnarOptions {
  Codec codec = Codec::none;                                 ///< of the pages: none, gzip or zstd
  int level = 0;                                             ///< of it; 0: its own
  std::uint64_t row_group_bytes = std::uint64_t{32} << 20U;  ///< of values in memory, before they are packed
  std::uint64_t row_group_rows = std::uint64_t{1} << 20U;
};

/// Of a line in a conversion: its values, in buffers that may have to grow for them, and its tokens.
inline constexpr std::uint64_t kColumnarLineMemory = 13;

/// A file that was made is kept in memory up to here, and further on in spool_dir where there is one.
inline constexpr std::uint64_t kConvertedInMemory = std::uint64_t{8} << 20U;

/// Belongs to one I/O thread.
class ColumnarConverter {
 public:
  virtual ~ColumnarConverter() = default;
  /// Takes a piece of the file. An error ends the conversion, with it.
  using Write = std::function<Result<void>(std::string_view)>;
  /// The same lines make the same bytes. Holds what ColumnarKind::memory says. Fails (fatal) where
  /// a line is no row, which no line is that was checked.
  [[nodiscard]] virtual Result<void> convert(std::string_view lines, const Write& write) = 0;
};

/// A format of columns, as it is given to a sink. Empty: the program was made without.
struct ColumnarKind {
  std::function<Result<std::unique_ptr<ColumnarConverter>>(std::shared_ptr<const RowShape>, const ColumnarOptions&)>
      make;
  /// Bytes of memory that a conversion holds, at most, beside what it is given and what it has written, and what one
  /// line needs (kColumnarLineMemory).
  std::function<std::uint64_t(const ColumnarOptions&)> memory;
  explicit operator bool() const noexcept { return make != nullptr; }
};

}  // namespace millrace
#pragma GCC visibility pop
