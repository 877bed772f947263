// SPDX-License-Identifier: Apache-2.0
// What output_format parquet takes, and what it refuses at load.
#include "connectors/s3/columnar_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "connectors/s3/rights.h"
#include "connectors/s3/sink_options_fixture.h"
#include "millrace/connectors/s3.h"
#include "millrace/encode/row_book.h"

namespace millrace::s3_sink {
namespace {

using ::testing::HasSubstr;

constexpr const char* kParquet = "output_format: parquet\n";

std::string parquet(const std::string& more) { return with(kParquet + more); }

TEST(ColumnarOptions, DefaultsInferAndKeep) {
  const CheckedOptions options = accepted(parquet(""));
  EXPECT_TRUE(options.in_columns());
  EXPECT_EQ(options.encode.format, EncodeFormat::rows);
  const auto shape = options.encode.rows->shape();
  EXPECT_FALSE(shape->settled);
  EXPECT_FALSE(shape->dots_lead_inside);
  EXPECT_TRUE(shape->include_metadata);
  EXPECT_EQ(shape->unknown, UnknownColumns::keep);
  EXPECT_EQ(options.columns.row_group_bytes, 32U << 20U);
  EXPECT_EQ(options.columns.codec, Codec::none);
  EXPECT_EQ(options.as.content_type, "application/vnd.apache.parquet");
}

TEST(ColumnarOptions, GivenColumnsAreSettledInTheirOrder) {
  const CheckedOptions options = accepted(
      parquet("include_metadata: false\ninclude_headers: true\ncompression: zstd\ncompression_level: 5\nparquet:\n  "
              "schema: [z int64 required, a.b string]\n  on_unknown_field: fail\n  row_group_size: 1MiB\n  "
              "row_group_rows: 100\n"));
  const auto shape = options.encode.rows->shape();
  EXPECT_TRUE(shape->settled);
  ASSERT_EQ(shape->columns().size(), 3U);
  EXPECT_EQ(to_text(shape->columns()[0]), "_headers json");
  EXPECT_EQ(to_text(shape->columns()[1]), "z int64 required");
  EXPECT_EQ(to_text(shape->columns()[2]), "a.b string");
  EXPECT_EQ(options.columns.codec, Codec::zstd);
  EXPECT_EQ(options.columns.level, 5);
  EXPECT_EQ(options.columns.row_group_bytes, 1U << 20U);
  EXPECT_EQ(options.columns.row_group_rows, 100U);
  EXPECT_EQ(options.seal.compression.codec, Codec::none) << "pages are packed, not the file";
}

// As the page says of the key, and not what Arrow takes by itself: 9 and 1.
TEST(ColumnarOptions, LevelsAreThoseOfOtherFormats) {
  EXPECT_EQ(accepted(parquet("compression: gzip\n")).columns.level, 2);
  EXPECT_EQ(accepted(parquet("compression: zstd\n")).columns.level, 3);
  EXPECT_EQ(accepted(parquet("compression: gzip\ncompression_level: 7\n")).columns.level, 7);
}

// Of few lines a file may come that is larger than they are: two bytes of each column in each row.
TEST(ColumnarOptions, AFileMayBeLargerThanItsLines) {
  EXPECT_FALSE(accepted(with("max_file_size: 1MiB\n")).may_need_parts());
  EXPECT_TRUE(accepted(parquet("max_file_size: 1MiB\n")).may_need_parts());
}

TEST(ColumnarOptions, KeysEndInParquetWhateverIsPacked) {
  for (const char* compression : {"none", "gzip", "zstd"}) {
    const CheckedOptions options = accepted(parquet(std::string("compression: ") + compression + "\n"));
    const auto key = options.keys.render({nullptr, "p", PartitionId(0), Offset(1), Offset(2), 0, "", "", ""});
    ASSERT_TRUE(key) << key.error().message();
    EXPECT_THAT(*key, ::testing::EndsWith("-00000000000000000002.parquet"));
  }
}

TEST(ColumnarOptions, WhatMeansNothingThereIsRefused) {
  EXPECT_THAT(refused(with("parquet: {}\n")), HasSubstr("sink.s3.parquet: has a meaning with output_format parquet"));
  EXPECT_THAT(refused(parquet("wrap: false\n")), HasSubstr("sink.s3.wrap"));
  EXPECT_THAT(refused(parquet("mark_encoding: true\n")), HasSubstr("sink.s3.mark_encoding"));
  EXPECT_THAT(refused(parquet("timestamp_precision: 3\n")), HasSubstr("sink.s3.timestamp_precision"));
  EXPECT_THAT(refused(parquet("delimiter: \"\"\n")), HasSubstr("sink.s3.delimiter"));
  EXPECT_THAT(refused(parquet("compat: iggy\n")), HasSubstr("sink.s3.compat"));
  EXPECT_THAT(refused(parquet("compression: gzip\ncompression_suffix: .gz\n")),
              HasSubstr("sink.s3.compression_suffix"));
  EXPECT_THAT(refused(parquet("compression: gzip\ncontent_encoding: gzip\n")), HasSubstr("sink.s3.content_encoding"));
  EXPECT_THAT(refused(parquet("compression: gzip\ncompression_level: 12\n")), HasSubstr("sink.s3.compression_level"));
  EXPECT_THAT(refused(parquet("extension: .x\n")), HasSubstr("sink.s3.extension"));
}

TEST(ColumnarOptions, EachColumnThatIsNoneIsNamed) {
  const std::string both = refused(parquet("parquet: {schema: [id number, name string, x]}\n"));
  EXPECT_THAT(both, HasSubstr("sink.s3.parquet.schema: 'id number' has no type"));
  EXPECT_THAT(both, HasSubstr("sink.s3.parquet.schema: 'x' is no column"));
  EXPECT_THAT(refused(parquet("parquet: {schema: [id int64, id string]}\n")), HasSubstr("'id' is there twice"));
  EXPECT_THAT(refused(parquet("parquet: {schema: [_offset int64]}\n")), HasSubstr("of the sink's own"));
  EXPECT_THAT(refused(parquet("parquet: {scheme: [a int64]}\n")), HasSubstr("schema"));
  EXPECT_THAT(refused(parquet("parquet: {row_group_rows: 0}\n")), HasSubstr("row_group_rows"));
}

TEST(ColumnarOptions, AProgramWithoutParquetSaysSo) {
  S3SinkOptions options;
  options.url = "s3://b/out";
  options.output_format = OutputFormat::parquet;
  const auto made = S3Sink::make(options);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::config);
  EXPECT_THAT(made.error().message(),
              HasSubstr("sink.s3.output_format: is parquet, which this program was built without"));
  EXPECT_THAT(made.error().message(), HasSubstr("tools/setup/arrow.sh"));
}

TEST(ColumnarOptions, NoDeadLettersInColumns) {
  S3SinkOptions options;
  options.url = "s3://b/bad";
  options.output_format = OutputFormat::parquet;
  const auto held = S3Sink::check_holds_letters(options);
  ASSERT_FALSE(held);
  EXPECT_THAT(held.error().message(), HasSubstr("json_lines keeps them"));
}

// Inferred columns are kept, and found, below _millrace/; the notes of uploads in parts, which a file of columns may
// need, lie there too.
TEST(ColumnarOptions, WhatLiesBesideTheObjectsIsReadAndWritten) {
  std::string all;
  for (const NeededRight& right : rights_of(accepted(parquet("")))) {
    if (right.on.find("_millrace/") != std::string::npos) all += right.action + " ";
  }
  EXPECT_EQ(all, "s3:PutObject s3:GetObject s3:DeleteObject ");
}

}  // namespace
}  // namespace millrace::s3_sink
