// SPDX-License-Identifier: Apache-2.0
#include "millrace/encode/row_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace millrace {
namespace {

using ::testing::HasSubstr;

TEST(RowSchema, AColumnIsANameAndAType) {
  EXPECT_EQ(*parse_column("id int64"), (Column{"id", ColumnType::int64}));
  EXPECT_EQ(*parse_column("  user.name   string  required "), (Column{"user.name", ColumnType::string, true}));
  EXPECT_EQ(*parse_column("price decimal(18,2)"), (Column{"price", ColumnType::decimal, false, 18, 2}));
  EXPECT_EQ(*parse_column("count decimal(38)"), (Column{"count", ColumnType::decimal, false, 38, 0}));
  EXPECT_EQ(*parse_column("two words bool"), (Column{"two words", ColumnType::boolean}));
  EXPECT_EQ(*parse_column("is required json"), (Column{"is required", ColumnType::json}));
  for (const char* type :
       {"bool", "int32", "int64", "float", "double", "string", "binary", "timestamp", "date", "json", "decimal(5,2)"}) {
    const std::string text = std::string("größe ") + type + " required";
    const auto column = parse_column(text);
    ASSERT_TRUE(column) << column.error().message();
    EXPECT_EQ(to_text(*column), text);
  }
}

std::string refused(const std::string& text) {
  const auto column = parse_column(text);
  return column ? "accepted" : column.error().message();
}

TEST(RowSchema, WhatIsNoColumn) {
  for (const char* text : {"", " ", "id", "int64", "required", "int64 required"}) {
    EXPECT_THAT(refused(text), HasSubstr("a name and its type")) << text;
  }
  for (const char* type : {"integer", "null", "decimal", "decimal(0)", "decimal(39)", "decimal(2,3)", "decimal(2,-1)",
                           "decimal(2,1", "decimal(,1)", "decimal(2,1)x", "INT64", "timestamp(6)"}) {
    EXPECT_THAT(refused(std::string("id ") + type), HasSubstr("has no type")) << type;
  }
  EXPECT_THAT(refused("a\"b string"), HasSubstr("quote"));
  EXPECT_THAT(refused("a\\b string"), HasSubstr("quote"));
  EXPECT_THAT(refused("a\tb string"), HasSubstr("quote"));
  EXPECT_THAT(refused("\xff string"), HasSubstr("quote"));
  EXPECT_THAT(refused(std::string(256, 'a') + " string"), HasSubstr("too long"));
}

std::string refused_together(std::initializer_list<const char*> names) {
  std::vector<Column> columns;
  for (const char* name : names) columns.push_back({name, ColumnType::string});
  const auto checked = check_columns(columns);
  return checked ? "accepted" : checked.error().message();
}

TEST(RowSchema, ColumnsThatDoNotGoTogether) {
  EXPECT_EQ(refused_together({"a", "b.c", "b.d", "ab", "a b"}), "accepted");
  EXPECT_THAT(refused_together({"a", "b", "a"}), HasSubstr("twice"));
  EXPECT_THAT(refused_together({"a.b", "a"}), HasSubstr("inside of the other"));
  EXPECT_THAT(refused_together({"a", "a.b.c"}), HasSubstr("inside of the other"));
  for (const char* name : {"_offset", "_timestamp", "_stream", "_topic", "_partition_id", "_headers", "_extra"})
    EXPECT_THAT(refused_together({name}), HasSubstr("of the sink's own")) << name;
  EXPECT_EQ(refused_together({"_id", "_source.id", "_offsets"}), "accepted") << "what other systems name so";
  for (const char* name : {".a", "a.", "a..b"}) EXPECT_THAT(refused_together({name}), HasSubstr("empty name")) << name;
}

// Of names without such dots only those that are the same are one.
TEST(RowSchema, ColumnsThatWereInferred) {
  const auto refused = [](const std::vector<Column>& columns) {
    const auto checked = check_columns(columns, false);
    return checked ? "accepted" : checked.error().message();
  };
  EXPECT_EQ(refused({{"a"}, {"a.b"}, {".c"}, {"d..e"}}), "accepted");
  EXPECT_THAT(refused({{"a"}, {"a.b"}, {"a"}}), HasSubstr("'a' is there twice"));
  EXPECT_THAT(refused({{"_extra"}}), HasSubstr("of the sink's own"));
}

TEST(RowSchema, AFileHasMetadataInFrontAndTheRestBehind) {
  RowShape shape;
  shape.fields = {{"id", ColumnType::int64}};
  shape.include_headers = true;
  std::string names;
  for (const Column& column : shape.columns()) names += to_text(column) + ";";
  EXPECT_EQ(names,
            "_offset int64 required;_timestamp timestamp;_stream string;_topic string;_partition_id int64 required;"
            "_headers json;id int64;_extra json;");
  shape.include_metadata = shape.include_headers = false;
  shape.unknown = UnknownColumns::fail;
  EXPECT_EQ(shape.columns(), shape.fields);
}

}  // namespace
}  // namespace millrace
