// SPDX-License-Identifier: Apache-2.0
// Variables: the four forms, where they may stand, and that no value of theirs can change the structure of a file.
#include "config/substitution.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "config/config_parse.h"

namespace millrace {
namespace {

using config_test::parsed;
using config_test::refused;
using config_test::Variables;

std::string value_of(std::string_view text, Variables variables = {}) {
  return parsed("a: " + std::string(text) + "\n", std::move(variables)).section("a").text();
}

TEST(Substitution, TheFourForms) {
  EXPECT_EQ(value_of("${A}", {{"A", "x"}}), "x");
  EXPECT_EQ(value_of("${A}", {{"A", ""}}), "");
  EXPECT_EQ(value_of("${A:-d}"), "d");
  EXPECT_EQ(value_of("${A:-d}", {{"A", ""}}), "d");
  EXPECT_EQ(value_of("${A:-d}", {{"A", "x"}}), "x");
  EXPECT_EQ(value_of("${A:-}"), "");
  EXPECT_EQ(value_of("${A:?why}", {{"A", "x"}}), "x");
  EXPECT_EQ(value_of("$$"), "$");
  EXPECT_EQ(value_of("$${A}"), "${A}");
  EXPECT_EQ(value_of("$$$$"), "$$");
  EXPECT_EQ(value_of("cost $5 or $x$"), "cost $5 or $x$");
  EXPECT_EQ(value_of("s3://${B}/${P:-in}/x", {{"B", "bucket"}}), "s3://bucket/in/x");
  EXPECT_EQ(value_of("${A:-a: b #c {d}", {}), "a: b #c {d");  // the default ends at the first brace
}

TEST(Substitution, WorksInQuotesFlowsAndNumbers) {
  const Variables variables{{"A", "x"}, {"N", "8"}};
  EXPECT_EQ(value_of("'${A}'", variables), "x");
  EXPECT_EQ(value_of("\"${A}\\t${A}\"", variables), "x\tx");
  const Config config = parsed("a: {b: ${A}, c: [${A}, ${N}]}\n", variables);
  EXPECT_EQ(config.section("a.b").text(), "x");
  EXPECT_EQ(config.section("a.c").items()[1].text(), "8");
}

TEST(Substitution, AVariableInACommentNeedsNoValue) {
  EXPECT_EQ(parsed("# set ${NOT_SET} first\na: 1 # ${NOT_SET:?really}\n").section("a").text(), "1");
}

TEST(Substitution, NoValueCanChangeTheStructure) {
  for (const char* value :
       {"a: b", "x # y", "[1, 2]", "{a: b}", "\"", "'", "&x", "*x", "!t", "- x", "@", "%", "|", "~", "zVARz0z"}) {
    const Config config = parsed("a: ${V}\nb: [\"${V}\", '${V}', ${V}]\n", {{"V", value}});
    EXPECT_EQ(config.section("a").text(), value);
    ASSERT_EQ(config.section("b").items().size(), 3U) << value;
    for (const ConfigSection& item : config.section("b").items()) EXPECT_EQ(item.text(), value);
    EXPECT_EQ(config.root().keys().size(), 2U);
  }
}

TEST(Substitution, WhatIsRefusedNamesThePlaceOfTheDollar) {
  EXPECT_EQ(refused("a: ${A}\n"), "p.yaml:1:4: variable A is not set; set it, or write ${A:-default}");
  EXPECT_EQ(refused("a: x\nb: [1, y${B:?set B to the bucket}]\n"),
            "p.yaml:2:9: variable B is not set: set B to the bucket");
  EXPECT_EQ(refused("a: ${B:?set B}\n", {{"B", ""}}), "p.yaml:1:4: variable B is empty: set B");
  EXPECT_EQ(refused("a: ${A}\nb: ${B}\n"),
            "p.yaml:1:4: variable A is not set; set it, or write ${A:-default}\n"
            "p.yaml:2:4: variable B is not set; set it, or write ${B:-default}");
  EXPECT_EQ(refused("a: ${A\n"),
            "p.yaml:1:4: '${' has no '}' on its line; write '$$' for a dollar that is meant as such");
  for (const char* form : {"${}", "${1A}", "${A-b}", "${A:=b}", "${A:+b}", "${A:}", "${A B}", "${A.b}"}) {
    EXPECT_NE(refused(std::string("a: ") + form + "\n", {{"A", "x"}}).find("is no variable"), std::string::npos)
        << form;
  }
  EXPECT_NE(refused("a: ${A:-${B}}\n").find("a default cannot hold a variable"), std::string::npos);
  EXPECT_EQ(refused("${A}: 1\n", {{"A", "x"}}), "p.yaml:1:1: a variable can stand in a value only, not in a key");
}

TEST(Substitution, AValueWithALineBreakIsRefusedWithoutShowingIt) {
  for (const char* value : {"hunter\n2", "hunter\r2", "hunter\nsink: {blackhole: {}}"}) {
    const std::string message = refused("a: ${A}\n", {{"A", value}});
    EXPECT_EQ(message,
              "p.yaml:1:4: the value of ${A} holds a line break; give the text in a file, by an option that takes a "
              "file's name");
  }
  EXPECT_EQ(refused("a: ${A}\n", {{"A", "\xFF"}}), "p.yaml:1:4: the value of ${A} is not UTF-8 text");
}

TEST(Substitution, PlacesAreThoseOfTheFileNotOfTheValues) {
  const Config config = parsed("a: {b: ${LONG}, c: $$, d: x}\ne: y\n", {{"LONG", std::string(500, 'v')}});
  EXPECT_EQ(config.section("a.b").where(), "p.yaml:1:8");
  EXPECT_EQ(config.section("a.c").key_where(), "p.yaml:1:17");
  EXPECT_EQ(config.section("a.d").where(), "p.yaml:1:27");
  EXPECT_EQ(config.section("e").where(), "p.yaml:2:4");
}

TEST(Substitution, TextThatLooksLikeAMarkerStaysText) {
  const Config config = parsed("a: zVARz0z\nb: \"z\\x56ARz0z ${V}\"\nc: \"zz\\x56ARzz9z ${V}\"\n", {{"V", "x"}});
  EXPECT_EQ(config.section("a").text(), "zVARz0z");
  EXPECT_EQ(config.section("b").text(), "zVARz0z x");
}

RC_GTEST_PROP(SubstitutionProperty, DoublingEveryDollarKeepsAnyText, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::element('$', '{', '}', 'a', ':', '-', '?', ' '));
  std::string doubled;
  for (const char c : text) doubled += c == '$' ? "$$" : std::string(1, c);
  RC_ASSERT(value_of("\"" + doubled + "\"") == text);
}

RC_GTEST_PROP(SubstitutionProperty, TextWithoutDollarsIsUnchanged, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~'));
  std::string plain;
  for (const char c : text) plain += c == '$' || c == '\'' ? '_' : c;
  RC_ASSERT(value_of("'" + plain + "'") == plain);
}

}  // namespace
}  // namespace millrace
