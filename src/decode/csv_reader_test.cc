// SPDX-License-Identifier: Apache-2.0
// Goal: a row becomes the JSON object that its header and its fields say, or a plain word. Method: rows and objects by
// hand; formats/csv/records_test.cc asks Python about many more.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decode/strict_json.h"
#include "millrace/decode/csv.h"

namespace millrace {
namespace {

std::shared_ptr<const Columns> columns(std::vector<std::string> names, CsvDialect dialect = {}) {
  return std::make_shared<Columns>(Columns{std::move(names), dialect});
}

std::string object_of(std::string_view row, const std::shared_ptr<const Columns>& header,
                      CsvTypes types = CsvTypes::strings) {
  CsvReader reader(types);
  decode::Json json;
  if (!reader.read(row, header, json)) return reader.error().message();
  EXPECT_FALSE(json.may_break_lines);
  EXPECT_TRUE(StrictJson(json.view).is_document()) << json.view;
  return std::string(json.view);
}

TEST(CsvReader, FieldsAreStringsAsTheyStand) {
  const auto abc = columns({"a", "b", "c"});
  EXPECT_EQ(object_of("1,x y,", abc), R"({"a":"1","b":"x y","c":""})");
  EXPECT_EQ(object_of(R"("1","x,y","")", abc), R"({"a":"1","b":"x,y","c":""})");
  EXPECT_EQ(object_of(R"(007, 1 ,null)", abc), R"({"a":"007","b":" 1 ","c":"null"})");
  EXPECT_EQ(object_of(R"("she said ""no""","""","""""")", abc), R"({"a":"she said \"no\"","b":"\"","c":"\"\""})");
  EXPECT_EQ(object_of("\"1\n2\r\n3\",a\"b,\\", abc), R"({"a":"1\n2\r\n3","b":"a\"b","c":"\\"})");
  EXPECT_EQ(object_of(std::string_view("\0\x01\x1F,\t\b\f,\x7F", 9), abc),
            "{\"a\":\"\\u0000\\u0001\\u001f\",\"b\":\"\\t\\b\\f\",\"c\":\"\x7F\"}");
  EXPECT_EQ(object_of("", columns({"a"})), R"({"a":""})");
}

TEST(CsvReader, NamesAreEscapedAndDialectsFollowed) {
  EXPECT_EQ(object_of("1;2", columns({"a\"b", "\n\xC3\xA9"}, {.delimiter = ';'})),
            "{\"a\\\"b\":\"1\",\"\\n\xC3\xA9\":\"2\"}");
  EXPECT_EQ(object_of("'1;''';\"", columns({"a", ""}, {.delimiter = ';', .quote = '\''})), R"({"a":"1;'","":"\""})");
}

TEST(CsvReader, InferKeepsWhatIsSpelledAsJsonOutsideQuotes) {
  const auto a = columns({"a"});
  const auto inferred = [&](std::string_view field) { return object_of(field, a, CsvTypes::infer); };
  for (const std::string value :
       {"0", "-0", "7", "-12", "1.50", "1e5", "1E+05", "-0.5e-7", "123456789012345678901234567890", "true", "false"}) {
    EXPECT_EQ(inferred(value), "{\"a\":" + value + "}");
    EXPECT_EQ(inferred("\"" + value + "\""), "{\"a\":\"" + value + "\"}");
  }
  for (const std::string value : {"007", "+1", ".5", "5.", "1e", "1e+", "-", "--1", "0x10", "1_000", "1 ", " 1", "NaN",
                                  "Infinity", "True", "TRUE", "null", "2026-07-01"}) {
    EXPECT_EQ(inferred(value), "{\"a\":\"" + value + "\"}");
  }
  EXPECT_EQ(inferred(""), R"({"a":null})");
  EXPECT_EQ(inferred("\"\""), R"({"a":""})");
}

TEST(CsvReader, WhatIsWrongIsARecordErrorWithAWayOut) {
  const auto ab = columns({"a", "b"});
  const std::string quoted = "a field that holds a delimiter or a newline stands in quotes";
  EXPECT_EQ(object_of("1,2,3", ab), "the row has 3 fields, the header 2 (a, b); " + quoted);
  EXPECT_EQ(object_of("1", ab),
            "the row has 1 field, the header 2 (a, b); is csv.delimiter of the source the one of these objects?");
  EXPECT_EQ(object_of("", ab),
            "the row has 1 field, the header 2 (a, b); is csv.delimiter of the source the one of these objects?");
  EXPECT_EQ(object_of("1,2", columns({"a;b"})),
            "the row has 2 fields, the header 1 (a;b); is csv.delimiter of the source the one of these objects?");
  EXPECT_EQ(object_of("\"1\"x,2", ab),
            "not a CSV row at byte 3: something follows the closing quote of a field; quotes within one are doubled");
  EXPECT_EQ(object_of("1,\"2", ab), "not a CSV row at byte 2: the quote that opens here is not closed");
  EXPECT_EQ(object_of("1,\"", ab), "not a CSV row at byte 2: the quote that opens here is not closed");
  EXPECT_EQ(object_of("1,\"2\"\"", ab), "not a CSV row at byte 2: the quote that opens here is not closed");
  EXPECT_EQ(object_of("1\r,2", ab), "not a CSV row at byte 1: a carriage return or newline stands outside quotes");
  EXPECT_EQ(object_of("1\n,2", ab), "not a CSV row at byte 1: a carriage return or newline stands outside quotes");
  EXPECT_NE(object_of("1,\xFF", ab).find("not valid UTF-8 at byte 2"), std::string::npos);

  CsvReader reader;
  decode::Json json;
  for (const std::string_view row : {"1", "\"", "\xFF"}) {
    ASSERT_FALSE(reader.read(row, ab, json));
    EXPECT_TRUE(reader.error().is_record()) << row;
  }
  ASSERT_TRUE(reader.read("1,2", ab, json));
  EXPECT_EQ(json.view, R"({"a":"1","b":"2"})");
}

TEST(CsvReader, WithoutAHeaderNothingIsSkipped) {
  CsvReader reader;
  decode::Json json;
  ASSERT_FALSE(reader.read("1,2", nullptr, json));
  EXPECT_TRUE(reader.error().is_fatal());
  EXPECT_NE(reader.error().message().find("format: csv"), std::string::npos);
}

TEST(CsvReader, AHeaderThatNamesTwoColumnsAlikeIsFatalAndOfItsObjectOnly) {
  const std::string way_out =
      "; a JSON object needs a name for each. decode: {raw: {}} passes rows as they are spelled and needs none";
  CsvReader reader;
  decode::Json json;
  const auto twins = columns({"a", "b", "a"});
  for (int row = 0; row < 2; ++row) {
    ASSERT_FALSE(reader.read("1,2,3", twins, json));
    EXPECT_TRUE(reader.error().is_fatal());  // so that on_error: skip does not pass over a whole object
    EXPECT_EQ(reader.error().message(), "the header of this CSV names columns 1 and 3 alike, 'a'" + way_out);
  }
  ASSERT_FALSE(reader.read("1,2,3", columns({"", "b", ""}), json));
  EXPECT_EQ(reader.error().message(), "the header of this CSV names columns 1 and 3 alike, nothing" + way_out);
  ASSERT_TRUE(reader.read("1", columns({""}), json));
  EXPECT_EQ(json.view, R"({"":"1"})");
}

TEST(CsvReader, EachObjectHasItsOwnHeader) {
  CsvReader reader;
  decode::Json json;
  ASSERT_TRUE(reader.read("1", columns({"a"}), json));
  EXPECT_EQ(json.view, R"({"a":"1"})");
  ASSERT_TRUE(reader.read("1", columns({"b"}), json));
  EXPECT_EQ(json.view, R"({"b":"1"})");
  ASSERT_TRUE(reader.read("1,2", columns({"b", "a"}), json));
  EXPECT_EQ(json.view, R"({"b":"1","a":"2"})");
}

}  // namespace
}  // namespace millrace
