// SPDX-License-Identifier: Apache-2.0
// What is inferred, by hand; and that whatever was taken before the columns were settled is a row of them afterwards,
// for any records and any moment.
#include "millrace/encode/row_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "millrace/decode/payload.h"
#include "millrace/encode/rows_format.h"

namespace shop {

struct Sale {
  std::int64_t id = 0;
  std::string buyer;
};
MILLRACE_JSON_FIELDS(Sale, id, buyer);

}  // namespace shop

namespace millrace {
namespace {

using ::testing::HasSubstr;

RowShape open_shape(UnknownColumns unknown = UnknownColumns::keep) {
  RowShape shape;
  shape.settled = shape.dots_lead_inside = shape.include_metadata = false;
  shape.unknown = unknown;
  return shape;
}

std::string texts(const RowShape& shape) {
  std::string all;
  for (const Column& column : shape.fields) all += (all.empty() ? "" : ", ") + to_text(column);
  return all;
}

std::string inferred(const std::vector<std::string>& records) {
  RowBook book(open_shape());
  for (const std::string& record : records) EXPECT_NE(book.widen(record), nullptr);
  return texts(*book.settle());
}

TEST(RowBook, TypesAreThoseOfTheValues) {
  EXPECT_EQ(inferred({R"({"a":true,"b":1,"c":1.5,"d":"x","e":{"f":1},"g":[],"h":null})"}),
            "a bool, b int64, c double, d string, e json, g json, h json");
  EXPECT_EQ(inferred({R"({"a":-9223372036854775808,"b":9223372036854775808,"c":1e2,"d":1e999,"e":-0})"}),
            "a int64, b json, c double, d json, e int64");
}

TEST(RowBook, TypesWiden) {
  EXPECT_EQ(inferred({R"({"a":1,"b":1,"c":null,"d":1})", R"({"a":1.5,"b":"x","c":"y","d":null})"}),
            "a double, b json, c string, d int64");
  EXPECT_EQ(inferred({R"({"a":1.5})", R"({"a":1})", R"({"b":true})", R"({"b":1})"}), "a double, b json");
}

TEST(RowBook, WhatIsNoColumnIsLeftOut) {
  EXPECT_EQ(inferred({R"({"_id":1,"a\"b":1,"":1," c":1,"d.e":1,"\u00e4":1,"\ud800":1})"}), "d.e int64, ä int64");
  EXPECT_EQ(inferred({"[1]", "1", "{", R"({"a":1)", R"({"a":1}})"}), "");
}

TEST(RowBook, ThereAreNoMoreColumnsThanThat) {
  std::string record = "{";
  for (std::size_t i = 0; i < kMostInferred + 5; ++i) record += (i == 0 ? "\"f" : ",\"f") + std::to_string(i) + "\":1";
  RowBook book(open_shape());
  EXPECT_EQ(book.widen(record + "}")->fields.size(), kMostInferred);
}

TEST(RowBook, SettledIsSettled) {
  RowBook book(open_shape());
  EXPECT_EQ(texts(*book.widen(R"({"a":1,"b":null})")), "a int64, b null");
  EXPECT_EQ(texts(*book.settle()), "a int64, b json");
  EXPECT_EQ(texts(*book.widen(R"({"a":"x","c":1})")), "a int64, b json");
  RowBook other(open_shape());
  other.settle_as({{"x", ColumnType::date}});
  EXPECT_EQ(texts(*other.widen(R"({"c":1})")), "x date");
  EXPECT_TRUE(other.shape()->settled);
}

EncodeSpec spec_of(std::shared_ptr<RowBook> book) {
  EncodeSpec spec;
  spec.format = EncodeFormat::rows;
  spec.include_metadata = book->shape()->include_metadata;
  spec.rows = std::move(book);
  return spec;
}

TEST(RowsFormat, WritesLinesOfRecordsThatFit) {
  RowShape shape;
  shape.fields = {*parse_column("a int64")};
  encode::RowsFormat format(spec_of(std::make_shared<RowBook>(shape)));
  Origin origin;
  origin.stream = "s";
  origin.topic = "t";
  format.begin_batch(&origin);
  RecordMeta meta;
  meta.offset = Offset(5);
  meta.partition = PartitionId(2);
  meta.timestamp = 1;
  ByteBuffer out;
  ASSERT_TRUE(format.encode(decode::Json{"{\"a\":\n1}", true}, meta, out));
  EXPECT_EQ(out.view(),
            R"({"offset":5,"timestamp":"1970-01-01T00:00:00.000001Z","stream":"s","topic":"t","partition_id":2,)"
            "\"payload\":{\"a\": 1}}\n");
  const auto refused = format.encode(decode::Json{R"({"a":"x"})", false}, meta, out);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error_class(), ErrorClass::record);
  EXPECT_THAT(refused.error().message(), HasSubstr("field 'a' (byte 5): expected a whole number"));
  EXPECT_THAT(format.encode(decode::Text{"x"}, meta, out).error().message(), HasSubstr("expected an object"));
  EXPECT_FALSE(format.encode(decode::Bytes{"no json"}, meta, out));
  out.clear();
  ASSERT_TRUE(format.encode(decode::Bytes{R"({"a":2})"}, meta, out));
}

// Of a type of the user's, looked into as it is written.
TEST(RowsFormat, TypedRecordsAreRowsToo) {
  RowShape shape;
  shape.fields = {*parse_column("id int32"), *parse_column("buyer string required")};
  shape.include_metadata = false;
  auto encoder = encode::rows(spec_of(std::make_shared<RowBook>(shape)), {.on_error = OnError::skip});
  EXPECT_EQ(encoder.on_error, OnError::skip);
  ByteBuffer out;
  ASSERT_TRUE(encoder.format.encode(shop::Sale{7, "Ada"}, {}, out));
  EXPECT_EQ(out.view(), "{\"id\":7,\"buyer\":\"Ada\"}\n");
  const auto refused = encoder.format.encode(shop::Sale{std::int64_t{1} << 40U, "Ada"}, {}, out);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("found 1099511627776"));
}

/// Any value, some of them nested.
rc::Gen<std::string> any_value() {
  return rc::gen::element<std::string>("null", "true", "0", "-7", "9007199254740993", "9223372036854775808", "1.5",
                                       "1e400", "\"x\"", "\"\\u00e9\"", "{\"a\":1}", "[1,null]", "\"\\ud800\"");
}

std::string any_record() {
  std::string record = "{";
  const int count = *rc::gen::inRange(0, 5);
  for (int i = 0; i < count; ++i) {
    record += (i == 0 ? "\"" : ",\"") + *rc::gen::element<std::string>("a", "b", "c", "d.e", "_f", "\\u0061") +
              "\":" + *any_value();
  }
  return record + "}";
}

// Two lanes, each with what it saw last, and a writer that settles somewhere in between.
RC_GTEST_PROP(RowBook, WhatWasTakenIsARow, ()) {
  const auto unknown = *rc::gen::element(UnknownColumns::keep, UnknownColumns::ignore, UnknownColumns::fail);
  auto book = std::make_shared<RowBook>(open_shape(unknown));
  std::vector<encode::RowsFormat> lanes;
  lanes.emplace_back(spec_of(book));
  lanes.emplace_back(spec_of(book));
  const int count = *rc::gen::inRange(0, 40);
  const int settles_at = *rc::gen::inRange(0, count + 1);
  ByteBuffer file;
  for (int i = 0; i < count; ++i) {
    if (i == settles_at) std::ignore = book->settle();
    const std::string record = any_record();
    const std::size_t before = file.size();
    auto& lane = lanes[static_cast<std::size_t>(*rc::gen::inRange(0, 2))];
    if (!lane.encode(decode::Json{record, false}, {}, file)) file.truncate(before);
  }
  RowReader reader(book->settle(), RowReader::Of::line);
  std::string_view lines = file.view();
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    RC_ASSERT(reader.read(lines.substr(0, end), 0));
    lines.remove_prefix(end + 1);
  }
}

}  // namespace
}  // namespace millrace
