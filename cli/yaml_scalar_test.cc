// SPDX-License-Identifier: Apache-2.0
// Scalars without quotes by the core schema of YAML 1.2 (its chapter 10.3.2), worked out by hand.
#include "cli/yaml_scalar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

using ::testing::HasSubstr;

std::string said(std::string_view text) {
  const YamlScalar read = read_plain_scalar(text);
  switch (read.kind) {
    case YamlScalar::Kind::text:
      return "a text";
    case YamlScalar::Kind::refused:
      return "refused: " + std::string(read.why);
    case YamlScalar::Kind::null:
    case YamlScalar::Kind::boolean:
    case YamlScalar::Kind::number:
      break;
  }
  return read.json;
}

TEST(YamlScalar, NullAndBooleansInTheirThreeSpellings) {
  for (const char* text : {"null", "Null", "NULL", "~"}) EXPECT_EQ(said(text), "null") << text;
  for (const char* text : {"true", "True", "TRUE"}) EXPECT_EQ(said(text), "true") << text;
  for (const char* text : {"false", "False", "FALSE"}) EXPECT_EQ(said(text), "false") << text;
  for (const char* text : {"nULL", "tRUE", "yes", "no", "on", "off", "y", "n", "~~", ""}) {
    EXPECT_EQ(said(text), "a text") << text;
  }
}

TEST(YamlScalar, WhatJsonSpellsTooStaysAsItStands) {
  for (const char* text :
       {"0", "-0", "12", "-7", "1.50", "1e400", "-1.5E+03", "0.1000", "0e1", "123456789012345678901"}) {
    EXPECT_EQ(said(text), text);
  }
}

TEST(YamlScalar, WhatJsonSpellsDifferentlyIsTheSameNumber) {
  EXPECT_EQ(said("+1"), "1");
  EXPECT_EQ(said(".5"), "0.5");
  EXPECT_EQ(said("-.5e3"), "-0.5e3");
  EXPECT_EQ(said("1."), "1.0");
  EXPECT_EQ(said("+12.e03"), "12.0e03");
  EXPECT_EQ(said("0x10"), "16");
  EXPECT_EQ(said("0xFFffFFffFFffFFff"), "18446744073709551615");
  EXPECT_EQ(said("0o17"), "15");
}

TEST(YamlScalar, WhatJsonCannotHoldAndWhatReadersDoNotAgreeOnIsRefused) {
  for (const char* text : {".inf", "-.Inf", "+.INF", ".nan", ".NaN", ".NAN"}) {
    EXPECT_THAT(said(text), HasSubstr("none to JSON")) << text;
  }
  for (const char* text : {"007", "-01", "00", "01.5", "+00e1"}) EXPECT_THAT(said(text), HasSubstr("octal")) << text;
  EXPECT_THAT(said("0x10000000000000000"), HasSubstr("64 bits"));
}

TEST(YamlScalar, OthersAreTexts) {
  for (const char* text :
       {"2026-07-01", "1_000", "1:30", "0b1", "0x",    "0xg", "0o8", "-0x1", "0X1",       ".",     "-",   "+",
        "e5",         "1e",    "1e+",  ".e1", "1.2.3", "1 2", "inf", "nan",  ".infinity", "-.nan", "12px"}) {
    EXPECT_EQ(said(text), "a text") << text;
  }
}

}  // namespace
}  // namespace millrace::cli
