// SPDX-License-Identifier: Apache-2.0
// The only file that includes Apache Arrow. What it throws ends here.
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <fmt/format.h>
#include <parquet/column_writer.h>
#include <parquet/file_writer.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "formats/parquet/column_values.h"
#include "millrace/base/bounded.h"
#include "millrace/base/bytes.h"
#include "millrace/encode/row_reader.h"
#include "millrace/formats/parquet.h"

namespace millrace {
namespace parquet_files {
namespace {

// A page of Arrow's writer, and so what it holds of one column beside what is whole.
constexpr std::int64_t kPageBytes = 1 << 20;

/// Hands what the writer makes to whoever takes it. Remembers the first error, and takes nothing behind it.
class Output final : public arrow::io::OutputStream {
 public:
  explicit Output(const ColumnarConverter::Write& write) : write_(&write) {}

  arrow::Status Write(const void* data, std::int64_t size) override {
    if (error_) return arrow::Status::IOError("stopped");
    if (auto taken = (*write_)({static_cast<const char*>(data), static_cast<std::size_t>(size)}); !taken) {
      error_ = std::move(taken).error();
      return arrow::Status::IOError("stopped");
    }
    at_ += size;
    return arrow::Status::OK();
  }
  using arrow::io::OutputStream::Write;
  arrow::Result<std::int64_t> Tell() const override { return at_; }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  [[nodiscard]] std::optional<Error> take_error() { return std::exchange(error_, std::nullopt); }
  void stop(Error error) { error_ = std::move(error); }

 private:
  const ColumnarConverter::Write* write_;
  std::int64_t at_ = 0;
  bool closed_ = false;
  std::optional<Error> error_;
};

parquet::schema::NodePtr node_of(const Column& column) {
  using parquet::LogicalType;
  using parquet::Type;
  Type::type type = Type::BYTE_ARRAY;
  std::shared_ptr<const LogicalType> logical = LogicalType::None();
  int length = -1;
  switch (column.type) {
    case ColumnType::boolean:
      type = Type::BOOLEAN;
      break;
    case ColumnType::int32:
      type = Type::INT32;
      break;
    case ColumnType::int64:
      type = Type::INT64;
      break;
    case ColumnType::float32:
      type = Type::FLOAT;
      break;
    case ColumnType::float64:
      type = Type::DOUBLE;
      break;
    case ColumnType::timestamp:
      type = Type::INT64;
      logical = LogicalType::Timestamp(true, LogicalType::TimeUnit::MICROS);
      break;
    case ColumnType::date:
      type = Type::INT32;
      logical = LogicalType::Date();
      break;
    case ColumnType::decimal:
      type = Type::FIXED_LEN_BYTE_ARRAY;
      length = static_cast<int>(decimal_width(column.precision));
      logical = LogicalType::Decimal(column.precision, column.scale);
      break;
    case ColumnType::binary:
      break;
    case ColumnType::nothing:
    case ColumnType::string:
    case ColumnType::json:
      logical = LogicalType::String();
      break;
  }
  return parquet::schema::PrimitiveNode::Make(
      column.name, column.required ? parquet::Repetition::REQUIRED : parquet::Repetition::OPTIONAL, logical, type,
      length);
}

std::shared_ptr<parquet::WriterProperties> properties_of(const ColumnarOptions& options) {
  parquet::WriterProperties::Builder builder;
  // Said, so that the same lines make the same bytes: who wrote it, and in which version of the format.
  builder.created_by("millrace version 1");
  builder.version(parquet::ParquetVersion::PARQUET_2_6);
  builder.data_page_version(parquet::ParquetDataPageVersion::V1);
  builder.data_pagesize(kPageBytes);
  builder.memory_pool(arrow::system_memory_pool());
  if (options.codec != Codec::none) {
    builder.compression(options.codec == Codec::gzip ? parquet::Compression::GZIP : parquet::Compression::ZSTD);
    if (options.level != 0) builder.compression_level(options.level);
  }
  return builder.build();
}

/// Gives a column to its writer, in slices that keep what is made for them small.
class Slices {
 public:
  Slices(const ColumnValues& column, std::size_t rows) : column_(column), rows_(rows) {}

  template <class WriterType, class T>
  void write_fixed(parquet::ColumnWriter& writer) {
    auto& typed = dynamic_cast<WriterType&>(writer);
    const auto* values = reinterpret_cast<const T*>(column_.values());
    each([&](std::size_t count, const std::int16_t* levels, std::size_t present) {
      typed.WriteBatch(static_cast<std::int64_t>(count), levels, nullptr, values);
      values += present;
    });
  }
  void write_texts(parquet::ColumnWriter& writer) {
    auto& typed = dynamic_cast<parquet::ByteArrayWriter&>(writer);
    std::array<parquet::ByteArray, kSlice> texts;
    const char* at = column_.values();
    const std::uint32_t* length = column_.lengths().data();
    each([&](std::size_t count, const std::int16_t* levels, std::size_t present) {
      for (std::size_t i = 0; i < present; ++i, at += *length++) {
        texts[i] = parquet::ByteArray(*length, reinterpret_cast<const std::uint8_t*>(at));
      }
      typed.WriteBatch(static_cast<std::int64_t>(count), levels, nullptr, texts.data());
    });
  }
  void write_decimals(parquet::ColumnWriter& writer) {
    auto& typed = dynamic_cast<parquet::FixedLenByteArrayWriter&>(writer);
    std::array<parquet::FixedLenByteArray, kSlice> numbers;
    const char* at = column_.values();
    each([&](std::size_t count, const std::int16_t* levels, std::size_t present) {
      for (std::size_t i = 0; i < present; ++i, at += column_.width()) {
        numbers[i] = parquet::FixedLenByteArray(reinterpret_cast<const std::uint8_t*>(at));
      }
      typed.WriteBatch(static_cast<std::int64_t>(count), levels, nullptr, numbers.data());
    });
  }

 private:
  static constexpr std::size_t kSlice = 1024;

  template <class Write>
  void each(const Write& write) {
    const auto levels = column_.levels();
    for (std::size_t row = 0; row < rows_; row += kSlice) {
      const std::size_t count = std::min(kSlice, rows_ - row);
      if (levels.empty()) {
        write(count, nullptr, count);
        continue;
      }
      const auto slice = levels.subspan(row, count);
      write(count, slice.data(), static_cast<std::size_t>(std::ranges::count(slice, std::int16_t{1})));
    }
  }

  const ColumnValues& column_;
  const std::size_t rows_;
};

void write_column(parquet::ColumnWriter& writer, const ColumnValues& column, std::size_t rows) {
  Slices slices(column, rows);
  switch (column.column().type) {
    case ColumnType::boolean:
      return slices.write_fixed<parquet::BoolWriter, bool>(writer);
    case ColumnType::int32:
    case ColumnType::date:
      return slices.write_fixed<parquet::Int32Writer, std::int32_t>(writer);
    case ColumnType::int64:
    case ColumnType::timestamp:
      return slices.write_fixed<parquet::Int64Writer, std::int64_t>(writer);
    case ColumnType::float32:
      return slices.write_fixed<parquet::FloatWriter, float>(writer);
    case ColumnType::float64:
      return slices.write_fixed<parquet::DoubleWriter, double>(writer);
    case ColumnType::decimal:
      return slices.write_decimals(writer);
    case ColumnType::nothing:
    case ColumnType::string:
    case ColumnType::binary:
    case ColumnType::json:
      return slices.write_texts(writer);
  }
}

class Converter final : public ColumnarConverter {
 public:
  Converter(const std::shared_ptr<const RowShape>& shape, const ColumnarOptions& options)
      : options_(options), reader_(shape, RowReader::Of::line) {
    parquet::schema::NodeVector nodes;
    for (const Column& column : shape->columns()) {
      nodes.push_back(node_of(column));
      columns_.emplace_back(column);
    }
    schema_ = std::static_pointer_cast<parquet::schema::GroupNode>(
        parquet::schema::GroupNode::Make("record", parquet::Repetition::REQUIRED, nodes));
    properties_ = properties_of(options);
  }

  Result<void> convert(std::string_view lines, const Write& write) override {
    auto output = std::make_shared<Output>(write);
    try {
      convert_into(lines, output);
    } catch (const std::exception& thrown) {
      // The writer's destructor may have written behind it: nothing was taken.
      if (auto error = output->take_error()) return fail(*std::move(error));
      return fail(Error::fatal(ErrorCode::internal, fmt::format("making a Parquet file: {}", thrown.what())));
    }
    if (auto error = output->take_error()) return fail(*std::move(error));
    return {};
  }

 private:
  void convert_into(std::string_view lines, const std::shared_ptr<Output>& output) {
    for (ColumnValues& column : columns_) column.clear();
    rows_ = 0;
    const auto file = parquet::ParquetFileWriter::Open(output, schema_, properties_);
    std::size_t number = 1;
    for (std::size_t begin = 0; begin < lines.size(); ++number) {
      const std::size_t end = std::min(lines.find('\n', begin), lines.size());
      const std::size_t behind = std::min(lines.size() - end, kBytePadding);
      if (!reader_.read(lines.substr(begin, end - begin), behind)) {
        output->stop(Error::fatal(ErrorCode::rule_broken,
                                  fmt::format("line {} of a file that was to become Parquet is no row of it, though "
                                              "lanes check each record; was it written by another encoder? {}",
                                              number, reader_.error().message())));
        return;
      }
      if (auto added = add_row(number); !added) {
        output->stop(std::move(added).error());
        return;
      }
      if (rows_ >= options_.row_group_rows || held_ >= options_.row_group_bytes) write_row_group(*file);
      begin = end + 1;
    }
    if (rows_ > 0) write_row_group(*file);
    file->Close();
  }

  Result<void> add_row(std::size_t number) {
    const auto cells = reader_.cells();
    held_ = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!columns_[i].add(cells[i])) [[unlikely]] {
        return fail(Error::fatal(ErrorCode::rule_broken, fmt::format("line {} has no value for the required column {}",
                                                                     number, columns_[i].column().name)));
      }
      held_ += columns_[i].bytes();
    }
    ++rows_;
    return {};
  }

  void write_row_group(parquet::ParquetFileWriter& file) {
    parquet::RowGroupWriter& group = *file.AppendRowGroup();
    for (ColumnValues& column : columns_) {
      parquet::ColumnWriter& writer = *group.NextColumn();
      write_column(writer, column, rows_);
      writer.Close();
      column.clear();
    }
    group.Close();
    rows_ = 0;
  }

  const ColumnarOptions options_;
  RowReader reader_;
  std::vector<ColumnValues> columns_;
  std::shared_ptr<parquet::schema::GroupNode> schema_;
  std::shared_ptr<parquet::WriterProperties> properties_;
  std::size_t rows_ = 0;    ///< of the row group that is being gathered
  std::uint64_t held_ = 0;  ///< bytes of it
};

Result<std::unique_ptr<ColumnarConverter>> make(const std::shared_ptr<const RowShape>& shape,
                                                const ColumnarOptions& options) {
  try {
    return std::make_unique<Converter>(shape, options);
  } catch (const std::exception& thrown) {
    return fail(Error::fatal(ErrorCode::config, fmt::format("these columns make no Parquet file: {}", thrown.what())));
  }
}

std::uint64_t memory(const ColumnarOptions& options) {
  // Values in buffers that grow by half, with an old one beside the new; one column again as pages, until its
  // dictionary is whole.
  return bounded_sum(bounded_product(4, options.row_group_bytes), 4 * kPageBytes);
}

}  // namespace
}  // namespace parquet_files

ColumnarKind parquet_format() { return {parquet_files::make, parquet_files::memory}; }

}  // namespace millrace
