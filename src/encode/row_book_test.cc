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

/// What a lane does with a record that fits.
std::shared_ptr<const RowShape> widen(RowBook& book, std::string_view record) {
  const auto from = book.shape();
  EXPECT_TRUE(book.replace(from, widened(from, record)));
  return book.shape();
}

std::string inferred(const std::vector<std::string>& records) {
  RowBook book(open_shape());
  for (const std::string& record : records) EXPECT_NE(widen(book, record), nullptr);
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

// 2^53 is the last whole number up to which a double has all.
TEST(RowBook, NoWholeNumberIsRounded) {
  const std::string exact = R"({"a":-9007199254740992})";
  const std::string large = R"({"a":9007199254740993})";
  const std::string real = R"({"a":0.5})";
  const std::string huge = R"({"a":9223372036854775808})";
  EXPECT_EQ(inferred({exact, real}), "a double");
  EXPECT_EQ(inferred({exact, large, exact}), "a int64");
  for (const auto& records : {std::vector{large, real}, std::vector{real, large}, std::vector{exact, real, large},
                              std::vector{exact, large, real}, std::vector{real, huge}, std::vector{huge, real}}) {
    EXPECT_EQ(inferred(records), "a json") << records.front();
  }
}

TEST(RowBook, TextThatIsNoneIsJson) {
  EXPECT_EQ(inferred({R"({"a":"x"})", R"({"a":"\ud800"})"}), "a json");
  EXPECT_EQ(inferred({R"({"a":"\ud800"})", R"({"a":"\ud83d\ude00"})"}), "a json");
  EXPECT_EQ(inferred({R"({"a":"\ud83d\ude00"})"}), "a string");
}

TEST(RowBook, OfTwoThatWidenTheLaterBeginsAnew) {
  RowBook book(open_shape());
  const auto from = book.shape();
  const auto one = widened(from, R"({"a":1})");
  EXPECT_TRUE(book.replace(from, one));
  EXPECT_FALSE(book.replace(from, widened(from, R"({"b":1})")));
  EXPECT_EQ(widened(one, R"({"a":2,"_extra":1})"), one) << "nothing is copied where nothing changes";
  EXPECT_EQ(texts(*book.shape()), "a int64");
}

TEST(RowBook, WhatIsNoColumnIsLeftOut) {
  EXPECT_EQ(
      inferred({R"({"_offset":1,"_extra":1,"_headers":1,"_id":1,"a\"b":1,"":1," c":1,"d.e":1,"\u00e4":1,"\ud800":1})"}),
      "_id int64, d.e int64, ä int64");
  EXPECT_EQ(inferred({"[1]", "1", "{", R"({"a":1)", R"({"a":1}})"}), "");
}

TEST(RowBook, ThereAreNoMoreColumnsThanThat) {
  std::string record = "{";
  for (std::size_t i = 0; i < kMostInferred + 5; ++i) record += (i == 0 ? "\"f" : ",\"f") + std::to_string(i) + "\":1";
  RowBook book(open_shape());
  EXPECT_EQ(widen(book, record + "}")->fields.size(), kMostInferred);
}

TEST(RowBook, SettledIsSettled) {
  RowBook book(open_shape());
  EXPECT_EQ(texts(*widen(book, R"({"a":1,"b":null})")), "a int64, b null");
  EXPECT_EQ(texts(*book.settle()), "a int64, b json");
  EXPECT_EQ(texts(*widen(book, R"({"a":"x","c":1})")), "a int64, b json");
  RowBook other(open_shape());
  other.settle_as({{"x", ColumnType::date}});
  EXPECT_EQ(texts(*widen(other, R"({"c":1})")), "x date");
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

// What is refused leaves no column behind; and a lane asks the book for what would otherwise be rounded.
TEST(RowsFormat, OnlyRecordsThatFitWiden) {
  for (const auto unknown : {UnknownColumns::keep, UnknownColumns::fail}) {
    auto book = std::make_shared<RowBook>(open_shape(unknown));
    encode::RowsFormat format(spec_of(book));
    ByteBuffer out;
    ASSERT_TRUE(format.encode(decode::Json{R"({"a":1})", false}, {}, out));
    const char* bad =
        unknown == UnknownColumns::keep ? R"({"a":2.5,"b":1,"\ud800":1})" : R"({"a":2.5,"b":1,"_extra":1})";
    const auto refused = format.encode(decode::Json{bad, false}, {}, out);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr(unknown == UnknownColumns::keep ? "surrogate" : "is no column"));
    EXPECT_EQ(texts(*book->shape()), "a int64");
    ASSERT_TRUE(format.encode(decode::Json{R"({"a":9007199254740993})", false}, {}, out));
    ASSERT_TRUE(format.encode(decode::Json{R"({"a":2.5})", false}, {}, out));
    EXPECT_EQ(texts(*book->settle()), "a json");
  }
  auto book = std::make_shared<RowBook>(open_shape());
  encode::RowsFormat format(spec_of(book));
  ByteBuffer out;
  for (const char* record : {R"({"a":0.5,"s":"x"})", R"({"a":9007199254740993})", R"({"s":"\ud800"})"})
    ASSERT_TRUE(format.encode(decode::Json{record, false}, {}, out)) << record;
  EXPECT_EQ(texts(*book->settle()), "a json, s json");
}

// The writer reads a record inside of a wrapper: 1024 levels are the most of both together.
TEST(RowsFormat, DepthCountsWhatStandsAroundARecord) {
  for (const bool metadata : {false, true}) {
    for (const std::size_t depth : {1022U, 1023U, 1024U, 1025U}) {
      RowShape shape = open_shape();
      shape.include_metadata = metadata;
      auto book = std::make_shared<RowBook>(shape);
      encode::RowsFormat format(spec_of(book));
      const std::string record = "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
      ByteBuffer out;
      const auto done = format.encode(decode::Json{record, false}, {}, out);
      EXPECT_EQ(done.has_value(), depth <= (metadata ? 1023U : 1024U)) << depth;
      if (!done) {
        EXPECT_EQ(done.error().error_class(), ErrorClass::record);
        EXPECT_EQ(texts(*book->settle()), "") << "it leaves no column behind";
        continue;
      }
      RowReader reader(book->settle(), RowReader::Of::line);
      EXPECT_TRUE(reader.read(out.view().substr(0, out.size() - 1), 0)) << depth;
    }
  }
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
  static const std::string deep = std::string(1022, '[') + std::string(1022, ']');
  return rc::gen::elementOf(std::vector<std::string>{deep, "[" + deep + "]", "[[" + deep + "]]", "null", "true", "0",
                                                     "-7", "9007199254740993", "9223372036854775808", "1.5", "1e400",
                                                     "\"x\"", "\"\\u00e9\"", "{\"a\":1}", "[1,null]", "\"\\ud800\""});
}

std::string any_record() {
  std::string record = "{";
  const int count = *rc::gen::inRange(0, 5);
  for (int i = 0; i < count; ++i) {
    record += (i == 0 ? "\"" : ",\"") +
              *rc::gen::element<std::string>("a", "b", "c", "d.e", "_f", "_extra", "\\ud800", "\\u0061") +
              "\":" + *any_value();
  }
  return record + "}";
}

// Two lanes, each with what it saw last, and a writer that settles somewhere in between.
RC_GTEST_PROP(RowBook, WhatWasTakenIsARow, ()) {
  const auto unknown = *rc::gen::element(UnknownColumns::keep, UnknownColumns::ignore, UnknownColumns::fail);
  RowShape shape = open_shape(unknown);
  shape.include_metadata = *rc::gen::arbitrary<bool>();
  auto book = std::make_shared<RowBook>(shape);
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
