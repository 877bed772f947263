// SPDX-License-Identifier: Apache-2.0
// The expression of `filter`, numbers by their worth, and what a list does in the order written.
#include "ops/transforms/where.h"

#include <gmock/gmock.h>

#include "ops/transforms/number_order.h"
#include "tests/transforms/transform_testing.h"

namespace millrace::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using transforms::compare_numbers;

bool passes(const std::string& where, std::string_view document) {
  return Bench({KeepWhere{where}})(document) == document;
}

TEST(Where, Comparisons) {
  constexpr const char* kDocument =
      R"({"n":10,"s":"b\u0062","u":{"v":null,"t":true},"not":1,"a b":2,"d.e":3,"x":1,"x":2,"big":1e400})";
  for (const char* yes : {"n == 10.0",
                          "n != 11",
                          "n < 1e2",
                          "n <= 10",
                          "n >= 10",
                          "n > -3",
                          R"(s == "bb")",
                          R"(s < "bc")",
                          R"(s >= "b")",
                          "u.v == null",
                          "u.t == true",
                          "u.t != false",
                          "exists(u.v)",
                          "exists ( u )",
                          "not exists(u.w)",
                          "n==10 and u.t==true",
                          "n == 1 or n == 10",
                          "not n == 1",
                          "not (n == 1 or n == 2)",
                          "n == 1 or n == 10 and s == \"bb\"",
                          R"("not" == 1)",
                          R"("a b" == 2)",
                          R"(a\ b == 2)",
                          R"(d\.e == 3)",
                          R"("d.e" == 3)",
                          R"(u."v" == null)",
                          "x == 2",
                          "big > 1e399",
                          "missing != 1",
                          "s != 1",
                          "n == 10 or missing > 1",
                          "\n n\t==\r 10 ",
                          "not not n == 10"}) {
    EXPECT_TRUE(passes(yes, kDocument)) << yes;
  }
  for (const char* no :
       {"n == 11", "n < 10", "s == \"b\"", "s > 1", "missing == null", "missing < 1", "u == null", "u.v.w == 1",
        "exists(u.w)", "x == 1", "u.v != null", "n == \"10\"", "not exists(n)", "n == 10 and n == 11"}) {
    EXPECT_FALSE(passes(no, kDocument)) << no;
  }
  EXPECT_FALSE(passes("exists(a)", "[1]"));
  EXPECT_TRUE(passes("not exists(a)", "[1]"));
  EXPECT_FALSE(passes("u.a == 1", R"({"u":{"a":1},"u":{"b":1}})"))
      << "the last of a key counts, with all that is in it";
}

TEST(Where, WhatIsNoneIsRefusedWithItsPlace) {
  const auto refused = [](const std::string& where) { return refusal({KeepWhere{where}}); };
  EXPECT_THAT(refused(""), HasSubstr("at character 1"));
  EXPECT_THAT(refused("a ="), HasSubstr("at character 3 of 'a =': expected ==, !="));
  EXPECT_THAT(refused("ü == x"), HasSubstr("at character 6"));
  EXPECT_THAT(refused("a == 1 b"), HasSubstr("expected 'and', 'or' or the end"));
  EXPECT_THAT(refused("a == 01"), HasSubstr("expected a number"));
  EXPECT_THAT(refused("a == 'x'"), HasSubstr("double quotes"));
  EXPECT_THAT(refused("a < true"), HasSubstr("only numbers and strings"));
  EXPECT_THAT(refused("(a == 1"), HasSubstr("expected ')'"));
  EXPECT_THAT(refused("exists(a"), HasSubstr("expected ')'"));
  EXPECT_THAT(refused("a. == 1"), HasSubstr("expected a path"));
  EXPECT_THAT(refused("a == \"x"), HasSubstr("a string begins here"));
  EXPECT_THAT(refused("a == \"\\ud800\""), HasSubstr("surrogate"));
  EXPECT_THAT(refused("a\\"), HasSubstr("backslash"));
  EXPECT_THAT(refused("a == 1 and"), HasSubstr("expected a path"));
  EXPECT_THAT(refused("a == \xff"), HasSubstr("UTF-8"));
  EXPECT_THAT(refused(std::string(100'000, '(')), HasSubstr("64 deep"));
  std::string nots;
  for (int i = 0; i < 100'000; ++i) nots += "not ";
  EXPECT_THAT(refused(nots + "a == 1"), HasSubstr("64 deep"));
  std::string ors = "a == 1";
  for (int i = 0; i < 100'000; ++i) ors += " or a == 1";
  EXPECT_THAT(refused(ors), HasSubstr("1,000 comparisons"));
}

TEST(NumberOrder, ByWorthHoweverTheyAreSpelled) {
  for (const auto& [a, b] : std::vector<std::pair<const char*, const char*>>{{"1", "1.0"},
                                                                             {"10e-1", "0.1E1"},
                                                                             {"0", "-0.0e5"},
                                                                             {"100", "1e2"},
                                                                             {"1e400", "10E+399"},
                                                                             {"0.00120", "12e-4"},
                                                                             {"-5", "-5.000"},
                                                                             {"1e0000000000000000000000001", "10"}}) {
    EXPECT_TRUE(compare_numbers(a, b) == 0) << a << " " << b;
  }
  const std::vector<const char*> rising{"-1e401",
                                        "-1e400",
                                        "-10.5",
                                        "-10",
                                        "-0.02",
                                        "-0.01",
                                        "0",
                                        "1e-400",
                                        "0.009",
                                        "0.01",
                                        "0.1",
                                        "0.11",
                                        "1",
                                        "9.99",
                                        "10",
                                        "10.0000000000000000000000001",
                                        "11",
                                        "99",
                                        "100",
                                        "101",
                                        "18446744073709551615",
                                        "18446744073709551616",
                                        "1e400"};
  for (std::size_t i = 0; i < rising.size(); ++i) {
    for (std::size_t j = 0; j < rising.size(); ++j) {
      EXPECT_TRUE(compare_numbers(rising[i], rising[j]) == (i <=> j)) << rising[i] << " " << rising[j];
    }
  }
}

TEST(Transforms, RunInTheOrderWrittenAnyNumberOfTimes) {
  Bench bench({AddFields{{set("b", "2")}}, RenameFields{{{path("b"), "c"}}}, AddFields{{set("b", "3")}},
               KeepWhere{"c == 2 and a > 0"}, DeleteFields{paths({"c"})}, DeleteFields{paths({"a"})}});
  EXPECT_EQ(bench(R"({"a":1})"), R"({"b":3})");
  EXPECT_EQ(bench(R"({"a":0})"), "-");
  EXPECT_EQ(bench.runner().dropped(), 1U);
  EXPECT_EQ(Bench({})(R"({ "a":1 })"), R"({ "a":1 })");
}

TEST(Transforms, AFaultNamesItsTransformAndTheNextDocumentIsNoWorse) {
  Bench bench({DeleteFields{paths({"x"})}, AddFields{{set("a.b", "1")}}, DeleteFields{paths({"c"})}});
  EXPECT_THAT(bench(R"({"x":1,"a":1,"c":2})"), StartsWith("!wrong_type"));
  EXPECT_EQ(bench.runner().failed_at(), 1U);
  EXPECT_EQ(bench(R"({"x":1,"c":2})"), R"({"a":{"b":1}})");
}

TEST(Transforms, MemoryIsStated) {
  const auto program = *TransformProgram::make({FlattenFields{}, AddFields{{set("a", "123")}}});
  EXPECT_GE(program.grown(1000), 16'000U);
  EXPECT_GE(program.held(1000), 2 * program.grown(1000));
  EXPECT_EQ(TransformProgram().held(1000), 0U);
  EXPECT_EQ(TransformProgram().grown(1000), 1000U);
}

}  // namespace
}  // namespace millrace::ops
