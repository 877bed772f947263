// SPDX-License-Identifier: Apache-2.0
// Cells of records, worked out by hand, and what is said of those that are no rows.
#include "millrace/encode/row_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::shared_ptr<const RowShape> shape_of(const std::vector<std::string>& columns,
                                         UnknownColumns unknown = UnknownColumns::keep) {
  auto shape = std::make_shared<RowShape>();
  for (const std::string& text : columns) shape->fields.push_back(*parse_column(text));
  shape->include_metadata = false;
  shape->unknown = unknown;
  return shape;
}

std::string shown(const Column& column, const Cell& cell) {
  if (!cell.present) return "null";
  switch (column.type) {
    case ColumnType::float32:
    case ColumnType::float64:
      return std::to_string(cell.real);
    case ColumnType::string:
    case ColumnType::binary:
    case ColumnType::json:
      return std::string(cell.text);
    default:
      return std::to_string(cell.integer);
  }
}

/// The cells with '|' between them, or the error.
std::string row(RowReader& reader, std::string_view document) {
  if (!reader.read(document, 0)) {
    return std::string(to_string(reader.error().code())) + ": " + reader.error().message();
  }
  std::string all;
  const auto columns = reader.shape()->columns();
  for (std::size_t i = 0; i < columns.size(); ++i) all += (i == 0 ? "" : "|") + shown(columns[i], reader.cells()[i]);
  return all;
}

std::string row(const std::vector<std::string>& columns, std::string_view document,
                UnknownColumns unknown = UnknownColumns::ignore) {
  RowReader reader(shape_of(columns, unknown), RowReader::Of::record);
  return row(reader, document);
}

TEST(RowReader, AValueOfEachType) {
  EXPECT_EQ(row({"a bool", "b int32", "c int64", "d float", "e double", "f string", "g binary", "h timestamp", "i date",
                 "j decimal(9,2)", "k json"},
                R"({"a":true,"b":-2147483648,"c":9223372036854775807,"d":0.5,"e":-1e3,"f":"z\u00fc\n","g":"Zm9v",)"
                R"("h":"1970-01-01T00:00:01Z","i":"1970-01-02","j":"12.5","k":{"x": [1, 2]}})"),
            "1|-2147483648|9223372036854775807|0.500000|-1000.000000|zü\n|foo|1000000|1|1250|{\"x\": [1, 2]}");
}

TEST(RowReader, NullAndAbsentAreAlike) {
  EXPECT_EQ(row({"a int64", "b string", "c json", "d.e int64"}, R"({"a":null,"c":null,"d":null})"),
            "null|null|null|null");
  EXPECT_EQ(row({"a int64"}, "{}"), "null");
}

TEST(RowReader, DotsLeadInside) {
  const std::vector<std::string> columns{"u.id int64", "u.name.first string", "x json"};
  EXPECT_EQ(row(columns, R"({"u":{"name":{"first":"Ada","last":"L"},"id":1},"x":{"y":[]}})"), "1|Ada|{\"y\":[]}");
  EXPECT_EQ(row(columns, R"({"u":{"name":null}})"), "null|null|null");
  EXPECT_THAT(row(columns, R"({"u":[1]})"), HasSubstr("field 'u' (byte 5): expected an object, found an array"));
  EXPECT_THAT(row(columns, R"({"u":{"name":{"first":7}}})"),
              AllOf(HasSubstr("wrong_type"), HasSubstr("field 'u.name.first'"), HasSubstr("expected a string")));
}

TEST(RowReader, OfANameThatComesTwiceTheLastCounts) {
  EXPECT_EQ(row({"a int64"}, R"({"a":1,"a":2})"), "2");
  EXPECT_EQ(row({"a int64"}, R"({"a":1,"a":null})"), "null");
  EXPECT_EQ(row({"u.a int64", "u.b int64"}, R"({"u":{"a":1},"u":{"b":2}})"), "null|2");
}

// Of a field that is no column too, also when the object that it was in comes again.
TEST(RowReader, TheLastCountsOfWhatIsNoColumn) {
  const std::vector<std::string> columns{"u.id int64"};
  const auto kept = [&](std::string_view document) { return row(columns, document, UnknownColumns::keep); };
  EXPECT_EQ(kept(R"({"u":{"x":1},"u":{"id":2}})"), "2|null");
  EXPECT_EQ(kept(R"({"u":{"x":1,"id":3},"u":null,"y":4})"), R"(null|{"y":4})");
  EXPECT_EQ(kept(R"({"u":{"x":1},"u.x":2})"), R"(null|{"u.x":2})");
  EXPECT_EQ(kept(R"({"u.x":2,"u":{"x":1}})"), R"(null|{"u.x":1})");
  EXPECT_EQ(kept(R"({"b":1,"a":2,"cc":3,"b":4,"\u0061":5,"b":6})"), R"(null|{"cc":3,"a":5,"b":6})");
}

TEST(RowReader, WhatDoesNotFitIsNamed) {
  EXPECT_THAT(row({"n int32"}, R"({"n":2147483648})"),
              AllOf(HasSubstr("field 'n' (byte 5)"), HasSubstr("found 2147483648")));
  EXPECT_THAT(row({"n int64"}, R"({"n":1.0})"), HasSubstr("found 1.0"));
  EXPECT_THAT(row({"n int64"}, R"({"n":"1"})"), HasSubstr("found a string"));
  EXPECT_THAT(row({"n int64"}, R"({"n":9223372036854775808})"), HasSubstr("found 9223372036854775808"));
  EXPECT_THAT(row({"n double"}, R"({"n":1e999})"), HasSubstr("found 1e999"));
  EXPECT_THAT(row({"n bool"}, R"({"n":0})"), HasSubstr("expected true or false, found a number"));
  EXPECT_THAT(row({"n string"}, R"({"n":"\ud800"})"), HasSubstr("surrogate"));
  EXPECT_THAT(row({"n binary"}, R"({"n":"a"})"), HasSubstr("field 'n': expected base64"));
  EXPECT_THAT(row({"n timestamp"}, R"({"n":"yesterday"})"), HasSubstr("found \"yesterday\""));
  EXPECT_THAT(row({"n date"}, R"({"n":"2026-02-30"})"), HasSubstr("expected a day"));
  EXPECT_THAT(row({"n decimal(3,1)"}, R"({"n":100})"), HasSubstr("at most 3 digits, 1 of them behind the point"));
  EXPECT_THAT(row({"n decimal(3,1)"}, R"({"n":[1]})"), HasSubstr("found [1]"));
  EXPECT_THAT(row({"a.n int64 required"}, R"({"a":{}})"),
              AllOf(HasSubstr("missing_field"), HasSubstr("field 'a.n': is required")));
  EXPECT_THAT(row({"n int64 required"}, R"({"n":null})"), HasSubstr("is required"));
}

TEST(RowReader, OnlyObjectsAreRows) {
  for (const char* document : {"[]", "1", "\"x\"", "null", "true"}) {
    EXPECT_THAT(row({"n int64"}, document), HasSubstr("expected an object")) << document;
  }
  for (const char* document :
       {"", "{", "{\"n\":1", "{\"n\":1}}", "{\"n\":1} x", "{\"n\":1,}", "{n:1}", "{\"m\":tru}"}) {
    EXPECT_THAT(row({"n int64"}, document), HasSubstr("malformed")) << document;
  }
}

TEST(RowReader, FieldsThatAreNoColumns) {
  const char* document = R"({"x":1,"a":2,"u":{"y":"\"","b":3},"z":[ 1 ]})";
  EXPECT_EQ(row({"a int64", "u.b int64"}, document, UnknownColumns::ignore), "2|3");
  EXPECT_EQ(row({"a int64", "u.b int64"}, document, UnknownColumns::keep), R"(2|3|{"x":1,"u.y":"\"","z":[ 1 ]})");
  EXPECT_EQ(row({"a int64"}, R"({"a":1})", UnknownColumns::keep), "1|null");
  EXPECT_EQ(row({}, R"({"q\"\n":1})", UnknownColumns::keep), R"({"q\"\n":1})");
  EXPECT_THAT(row({"u.b int64"}, R"({"u":{"y":1}})", UnknownColumns::fail),
              AllOf(HasSubstr("unknown_field"), HasSubstr("field 'u.y': is no column")));
  EXPECT_THAT(row({}, R"({"\ud800":1})", UnknownColumns::keep), HasSubstr("surrogate"));
  EXPECT_THAT(row({}, R"({"x":tru})", UnknownColumns::ignore), HasSubstr("malformed"));
}

TEST(RowReader, ALineHasItsMetadata) {
  auto shape = std::make_shared<RowShape>(*shape_of({"a int64", "payload string"}));
  shape->include_metadata = shape->include_headers = true;
  RowReader reader(shape, RowReader::Of::line);
  EXPECT_EQ(row(reader, R"({"offset":7,"timestamp":"1970-01-01T00:00:00.000001Z","stream":"s","topic":"t",)"
                        R"("partition_id":3,"headers":{"h":"v"},"payload":{"a":1,"offset":2,"payload":"p"}})"),
            R"(7|1|s|t|3|{"h":"v"}|1|p|{"offset":2})");
  EXPECT_EQ(row(reader, R"({"offset":8,"partition_id":3,"payload":{}})"), "8|null|null|null|3|null|null|null|null");
  RowReader of_record(shape, RowReader::Of::record);
  EXPECT_EQ(row(of_record, R"({"a":1,"payload":"p"})"), "null|null|null|null|null|null|1|p|null");
}

// Only metadata of a record alone are not looked for: a line without them is another encoder's, and a column may have
// a name like theirs.
TEST(RowReader, WhatIsRequiredIsLookedFor) {
  auto shape = std::make_shared<RowShape>(*shape_of({"_x int64 required"}));
  RowReader bare(shape, RowReader::Of::line);
  EXPECT_THAT(row(bare, "{}"), HasSubstr("field '_x': is required"));
  shape = std::make_shared<RowShape>(*shape_of({"a int64"}));
  shape->include_metadata = true;
  RowReader wrapped(shape, RowReader::Of::line);
  EXPECT_THAT(row(wrapped, R"({"a":1})"), HasSubstr("field '_offset': is required"));
  RowReader of_record(shape, RowReader::Of::record);
  EXPECT_TRUE(of_record.read(R"({"a":1})", 0));
}

// Of inferred columns a dot is a character like others.
TEST(RowReader, InferredNamesAreLiteral) {
  auto shape = std::make_shared<RowShape>(*shape_of({"a.b int64"}, UnknownColumns::ignore));
  shape->dots_lead_inside = false;
  RowReader reader(shape, RowReader::Of::record);
  EXPECT_EQ(row(reader, R"({"a.b":1,"a":{"b":2}})"), "1");
}

TEST(RowReader, ARowIsItsOwn) {
  RowReader reader(shape_of({"a string", "b binary"}), RowReader::Of::record);
  EXPECT_EQ(row(reader, R"({"a":"\u0041","b":"Zm9v","c":1})"), R"(A|foo|{"c":1})");
  EXPECT_THAT(row(reader, R"({"a":1})"), HasSubstr("expected a string"));
  EXPECT_THAT(row(reader, R"({"b":"x"})"), HasSubstr("base64"));
  EXPECT_EQ(row(reader, "{}"), "null|null|null");
}

}  // namespace
}  // namespace millrace
