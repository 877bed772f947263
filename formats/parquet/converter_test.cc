// SPDX-License-Identifier: Apache-2.0
// What a file is by its first and last bytes and by comparison; what is in it other readers say (tests/parquet).
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "formats/parquet/column_values.h"
#include "millrace/formats/parquet.h"

namespace millrace {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::shared_ptr<const RowShape> shape_of(const std::vector<std::string>& columns) {
  auto shape = std::make_shared<RowShape>();
  for (const std::string& text : columns) shape->fields.push_back(*parse_column(text));
  shape->include_metadata = false;
  return shape;
}

std::unique_ptr<ColumnarConverter> converter(const std::vector<std::string>& columns,
                                             const ColumnarOptions& options = {}) {
  auto made = parquet_format().make(shape_of(columns), options);
  EXPECT_TRUE(made) << made.error().message();
  return *std::move(made);
}

std::string file_of(ColumnarConverter& converter, const std::string& lines) {
  std::string file;
  const auto done = converter.convert(lines, [&](std::string_view piece) -> Result<void> {
    file += piece;
    return {};
  });
  EXPECT_TRUE(done) << done.error().message();
  return file;
}

std::string lines_of(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    lines += R"({"n":)" + std::to_string(i) + R"(,"s":"text )" + std::to_string(i * i) + "\"}\n";
  }
  return lines;
}

TEST(ParquetConverter, TheSameLinesMakeTheSameBytes) {
  for (const Codec codec : {Codec::none, Codec::gzip, Codec::zstd}) {
    const ColumnarOptions options{.codec = codec, .row_group_rows = 300};
    const auto one = converter({"n int64", "s string"}, options);
    const std::string first = file_of(*one, lines_of(1000));
    EXPECT_THAT(first, StartsWith("PAR1"));
    EXPECT_THAT(first, EndsWith("PAR1"));
    EXPECT_THAT(first, HasSubstr("millrace version 1"));
    EXPECT_NE(file_of(*one, lines_of(999)), first);
    EXPECT_EQ(file_of(*one, lines_of(1000)), first) << "with the memory of the file before";
    EXPECT_EQ(file_of(*converter({"n int64", "s string"}, options), lines_of(1000)), first);
  }
}

TEST(ParquetConverter, AFileWithoutLinesIsOne) {
  const auto made = converter({"n int64"});
  EXPECT_THAT(file_of(*made, ""), StartsWith("PAR1"));
}

TEST(ParquetConverter, StopsWithTheErrorOfWhoTakesIt) {
  const auto made = converter({"n int64", "s string"}, {.row_group_rows = 10});
  for (const int pieces : {0, 1, 5}) {
    int taken = 0;
    const auto done = made->convert(lines_of(1000), [&](std::string_view) -> Result<void> {
      if (taken++ == pieces) return fail(Error::retryable(ErrorCode::cancelled, "enough"));
      return {};
    });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), ErrorCode::cancelled);
    EXPECT_EQ(taken, pieces + 1) << "nothing is given behind an error";
  }
  EXPECT_THAT(file_of(*made, lines_of(10)), EndsWith("PAR1")) << "it can be used on";
}

TEST(ParquetConverter, ALineThatIsNoRowIsNamed) {
  const auto made = converter({"n int64"});
  const auto done = made->convert("{\"n\":1}\n{\"n\":\"x\"}\n", [](std::string_view) -> Result<void> { return {}; });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().error_class(), ErrorClass::fatal);
  EXPECT_THAT(done.error().message(), HasSubstr("line 2"));
  EXPECT_THAT(done.error().message(), HasSubstr("field 'n'"));
}

// Of lines that another encoder has made, for example. A required column has no levels, so nothing else would say that
// there are fewer values than rows.
TEST(ParquetConverter, ARequiredValueThatIsAbsentEndsIt) {
  auto shape = std::make_shared<RowShape>(*shape_of({"n int64"}));
  shape->include_metadata = true;
  const auto take = [](std::string_view) -> Result<void> { return {}; };
  const auto wrapped = *parquet_format().make(shape, {});
  const auto done = wrapped->convert("{\"n\":1}\n{\"n\":2}\n", take);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("field '_offset': is required"));
  const auto named = converter({"_x int64 required"})->convert("{}\n{}\n", take);
  ASSERT_FALSE(named);
  EXPECT_THAT(named.error().message(), HasSubstr("field '_x': is required"));
  parquet_files::ColumnValues values({"n", ColumnType::int64, true});
  EXPECT_FALSE(values.add({}));
  EXPECT_TRUE(values.add({.present = true}));
  EXPECT_EQ(values.bytes(), sizeof(std::int64_t));
}

// By the table of the format's page: 1 to 2 digits in a byte, 9 in four, 18 in eight, 38 in sixteen.
TEST(ParquetConverter, DecimalsTakeNoMoreBytesThanTheyNeed) {
  using parquet_files::decimal_width;
  EXPECT_EQ(decimal_width(1), 1U);
  EXPECT_EQ(decimal_width(2), 1U);
  EXPECT_EQ(decimal_width(3), 2U);
  EXPECT_EQ(decimal_width(4), 2U);
  EXPECT_EQ(decimal_width(5), 3U);
  EXPECT_EQ(decimal_width(9), 4U);
  EXPECT_EQ(decimal_width(10), 5U);
  EXPECT_EQ(decimal_width(18), 8U);
  EXPECT_EQ(decimal_width(19), 9U);
  EXPECT_EQ(decimal_width(38), 16U);
}

// The packaged libparquet exports an OpenSSL and a simdjson; calls of ours must not end up in them.
TEST(ParquetConverter, LibrariesThatItBringsStayItsOwn) {
  for (const char* symbol : {"EVP_DigestInit_ex", "_ZN8simdjson25get_active_implementationEv"}) {
    void* const found = ::dlsym(RTLD_DEFAULT, symbol);
    if (found == nullptr) continue;  // another version of that library
    Dl_info where{};
    ASSERT_NE(::dladdr(found, &where), 0) << symbol;
    EXPECT_THAT(where.dli_fname, ::testing::Not(HasSubstr("libparquet"))) << symbol;
  }
}

TEST(ParquetConverter, MemoryIsSaid) {
  EXPECT_EQ(parquet_format().memory({.row_group_bytes = 10U << 20U}), 44U << 20U);
}

}  // namespace
}  // namespace millrace
