// SPDX-License-Identifier: Apache-2.0
// jq in a list: none, one or several documents of one, all of them or, with an error, none.
#include "ops/transforms/jq_program.h"

#include <gmock/gmock.h>

#include "tests/transforms/transform_testing.h"

namespace millrace::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

#ifdef MILLRACE_TRANSFORM_JQ

TEST(Jq, GivesOutNoneOneOrSeveral) {
  Bench bench({JqFilter{".items[]"}});
  EXPECT_THAT(bench.all(R"({"items":[1,{"a": "b"},"x"]})"), ElementsAre("1", R"({"a":"b"})", R"("x")"));
  EXPECT_THAT(bench.all(R"({"items":[]})"), IsEmpty());
  EXPECT_EQ(bench.runner().dropped(), 1U) << "what becomes nothing is filtered";
  EXPECT_THAT(bench.all(R"({"items":[null]})"), ElementsAre("null"));
}

TEST(Jq, SpellsAsJqDoes) {
  Bench bench({JqFilter{"."}});
  // What `jq -c .` (1.6) prints.
  EXPECT_EQ(bench(R"({"a":1.0,"b":1e400,"c":12345678901234567890,"d":"\u0061","e":1e2, "a":3})"),
            R"({"a":3,"b":1.7976931348623157e+308,"c":12345678901234567000,"d":"a","e":100})");
}

TEST(Jq, StandsAnywhereAndAnyNumberOfTimes) {
  Bench bench({DeleteFields{paths({"x"})}, JqFilter{".a[]"}, AddFields{{set("n", "1.50")}}, KeepWhere{"k != 2"},
               JqFilter{"., .k"}, FlattenFields{}});
  EXPECT_THAT(bench.all(R"({"x":0,"a":[{"k":1},{"k":2},{"k":{"l":3}}]})"),
              ElementsAre(R"({"k":1,"n":1.5})", "1", R"({"k.l":3,"n":1.5})", R"({"l":3})"));
  EXPECT_EQ(bench.runner().dropped(), 1U);
}

TEST(Jq, AnErrorIsOneOfTheRecordAndLeavesNothingOfIt) {
  Bench bench({JqFilter{R"(.[] | if . == 3 then error("three") else . end)"}});
  EXPECT_THAT(bench.all("[1,2,3]"), ElementsAre("!malformed: jq: three"));
  EXPECT_EQ(bench.runner().failed_at(), 0U);
  EXPECT_THAT(bench.all("[1,2]"), ElementsAre("1", "2")) << "the next record is no worse";
  EXPECT_THAT(bench(R"({"a":1})").substr(0, 8), "1");
  EXPECT_THAT(bench("5"), StartsWith("!malformed: jq: Cannot iterate over number"));
  Bench later({JqFilter{".[]"}, AddFields{{set("a.b", "1")}}});
  EXPECT_THAT(later.all(R"([{},{"a":1}])"), ElementsAre(StartsWith("!wrong_type: 'a.b'")))
      << "nor of a later transform's";
  EXPECT_EQ(later.runner().failed_at(), 1U);
}

TEST(Jq, OnlyEmptySaysNothing) {
  Bench empty({JqFilter{"empty"}});
  EXPECT_THAT(empty.all("1"), IsEmpty());
  EXPECT_EQ(empty.runner().dropped(), 1U);
  for (const char* program : {"error(null)", "error", ".a | error", "def f: error(.); null | f", "1, error(null)",
                              "def error(x): 1; null | error"}) {
    Bench bench({JqFilter{program}});
    EXPECT_THAT(bench.all("null"), ElementsAre("!malformed: jq: null (null) not a string")) << program;
    EXPECT_EQ(bench.runner().dropped(), 0U) << program;
  }
  EXPECT_THAT(Bench({JqFilter{"error"}}).all(R"("x")"), ElementsAre("!malformed: jq: x"));
  EXPECT_THAT(Bench({JqFilter{"error"}}).all(R"({"a":1})"), ElementsAre(HasSubstr(R"({"a":1})")));
  EXPECT_THAT(Bench({JqFilter{"try error(\"x\") catch ."}}).all("1"), ElementsAre(R"("x")"));
}

TEST(Jq, WhatAHaltLeavesBehindIsFreedOnce) {
  Bench bench({JqFilter{
      R"(if . == 1 then halt elif . == 2 then halt_error elif . == 3 then {a:"b"}|halt_error(7) else . end)"}});
  for (int round = 0; round < 3; ++round) {
    for (const char* document : {"1", "2", "3", R"("a text of its own memory")", "2", "1"}) {
      const std::string made = bench(document);
      if (document[0] == '"') {
        EXPECT_EQ(made, document);
      } else {
        EXPECT_THAT(made,
                    StartsWith("!not_supported: the jq program halts, which would end all of the run; write error("));
      }
    }
    EXPECT_THAT(bench(std::string(600, '[')), StartsWith("!malformed"));
  }
  Bench texts({JqFilter{"halt_error"}});
  for (int round = 0; round < 3; ++round)
    EXPECT_THAT(texts(R"("a text of its own memory")"), StartsWith("!not_supported"));
  Bench several({JqFilter{".[] | if . == 2 then halt else . end"}, FlattenFields{}});
  EXPECT_THAT(several.all("[1,2,3]"), ElementsAre(StartsWith("!not_supported")));
  EXPECT_THAT(several.all("[1,3]"), ElementsAre("1", "3"));
}

std::string nested(std::size_t depth, const std::string& inside) {
  return std::string(depth, '[') + inside + std::string(depth, ']');
}

TEST(Jq, WhatLibjqCannotWriteIsARecordError) {
  // `jq -c '[.]'` (1.6) writes a value inside of 256 arrays, and "<stripped: exceeds max depth>" inside of 257.
  Bench wrap({JqFilter{"[.]"}});
  EXPECT_EQ(wrap(nested(255, "1")), nested(256, "1"));
  EXPECT_THAT(wrap(nested(256, "1")),
              StartsWith("!malformed: the jq program gives out a value that cannot be written as JSON (byte 257 of"));
  EXPECT_EQ(wrap.runner().failed_at(), 0U);
  EXPECT_EQ(wrap("1"), "[1]") << "the next record is no worse";
  Bench flat({JqFilter{"{a: [.]}"}, FlattenFields{}, DeleteFields{paths({"b"})}});
  EXPECT_THAT(flat(nested(256, "1")), HasSubstr("cannot be written as JSON"));
  EXPECT_EQ(flat.runner().failed_at(), 0U);
  Bench some({DeleteFields{paths({"b"})}, JqFilter{"., [[.]]"}});
  EXPECT_THAT(some.all(nested(255, "1")), ElementsAre(HasSubstr("cannot be written as JSON")))
      << "all of it or nothing";
  EXPECT_EQ(some.runner().failed_at(), 1U);
  EXPECT_EQ(Bench({JqFilter{"."}})(R"("<stripped: exceeds max depth>")"), R"("<stripped: exceeds max depth>")");
}

TEST(Jq, OutputsOfOneRecordAreBounded) {
  Bench bench({JqFilter{"range(.)", 3}});
  EXPECT_THAT(bench.all("3"), ElementsAre("0", "1", "2"));
  EXPECT_THAT(bench.all("4"), ElementsAre("!too_large: the jq program gives out more than 3 documents for this record; "
                                          "give out fewer, or raise max_outputs: jq: {program: ..., max_outputs: 6}"));
  EXPECT_THAT(bench.all("3"), ElementsAre("0", "1", "2")) << "each record is counted anew";
  // Two in a row: what the second makes of all that the first made is counted together.
  Bench two({JqFilter{".[]", 2}, JqFilter{"range(.)", 5}});
  EXPECT_EQ(two.all("[2,3]").size(), 5U);
  EXPECT_THAT(two.all("[3,3]"), ElementsAre(HasSubstr("more than 5 documents")));
  EXPECT_EQ(two.runner().failed_at(), 1U);
  EXPECT_EQ(Bench({JqFilter{"range(.)"}}).all("10000").size(), 10'000U);
  EXPECT_THAT(Bench({JqFilter{"range(.)"}}).all("10001"), ElementsAre(HasSubstr("more than 10000 documents")));
  EXPECT_THAT(refusal({JqFilter{".", 0}}), HasSubstr("max_outputs is 0"));
}

TEST(Jq, BytesOfOneRecordAreBoundedOverAllThatALaterOneGetsToSee) {
  Bench bench({JqFilter{"range(.)"}, JqFilter{R"("x" * 1000000)"}});
  EXPECT_EQ(bench.all("16").size(), 16U);
  EXPECT_THAT(bench.all("17"), ElementsAre(HasSubstr("more than 16777216 bytes")));
}

TEST(Jq, GrownHoldsForEachOfManyDocuments) {
  const auto check = [](std::vector<TransformSpec> list, const std::string& document) {
    Bench bench(std::move(list));
    std::uint64_t bytes = 0;
    for (const std::string& one : bench.all(document)) bytes += one.size();
    EXPECT_LE(bytes, bench.program().grown(document.size()));
    return bytes;
  };
  const std::string value = "\"" + std::string(5000, 'v') + "\"";
  EXPECT_GT(check({JqFilter{"range(10000) | {}"}, AddFields{{set("a", value)}}}, "1"), 50'000'000U);
  std::string deep = "{}";
  EXPECT_GT(check({JqFilter{R"(range(1000) | {aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: {b:1,c:2,d:3,e:4}})"},
                   FlattenFields{}},
                  "1"),
            100'000U);
}

TEST(Jq, MemoryOfManyOutputsIsCounted) {
  const auto held = [](std::uint64_t most) { return TransformProgram::make({JqFilter{".[]", most}})->held(1000); };
  // Of each at least where it ends and a view of it.
  EXPECT_GE(held(2'000'000) - held(1'000'000), 1'000'000 * (sizeof(std::size_t) + sizeof(decode::Json)));
}

TEST(Jq, HaltingTooMuchAndTooDeep) {
  EXPECT_THAT(Bench({JqFilter{"halt"}})("1"), StartsWith("!not_supported: the jq program halts"));
  EXPECT_THAT(Bench({JqFilter{R"(("x" * 3000000) | (., ., ., ., ., .))"}})("1"),
              StartsWith("!too_large: what the jq program gives out for this record is more than 16777216 bytes"));
  Bench bench({JqFilter{"."}});
  EXPECT_THAT(bench(std::string(600, '[') + std::string(600, ']')),
              StartsWith("!malformed: jq cannot read the document"));
  EXPECT_THAT(bench("{\"a\":\"\xff\"}"), StartsWith("!invalid_utf8"));
  EXPECT_THAT(bench("nan"), StartsWith("!malformed: not valid JSON")) << "jq would take it";
}

TEST(Jq, AProgramThatIsNoneIsRefusedInJqsWords) {
  EXPECT_THAT(refusal({JqFilter{".a["}}), HasSubstr("syntax error"));
  EXPECT_THAT(refusal({JqFilter{"nothing_of_that_name"}}), HasSubstr("nothing_of_that_name/0 is not defined"));
  EXPECT_THAT(refusal({JqFilter{"nothing_of_that_name"}}), Not(HasSubstr("def error"))) << "its words and no others";
  EXPECT_THAT(refusal({JqFilter{std::string("a\0b", 3)}}), HasSubstr("null byte"));
}

TEST(Jq, AsksForTheTimeAndMultiplies) {
  EXPECT_EQ(TransformProgram::make({JqFilter{".t = now"}})->varies_with(), "transforms[0] (jq): now");
  EXPECT_EQ(TransformProgram::make({JqFilter{".known"}})->varies_with(), "");
  EXPECT_EQ(TransformProgram::make({JqFilter{".now | .a"}})->varies_with(), "");
  EXPECT_TRUE(TransformProgram::make({JqFilter{"."}})->may_multiply());
  EXPECT_FALSE(TransformProgram::make({FlattenFields{}})->may_multiply());
  EXPECT_GE(TransformProgram::make({JqFilter{"."}})->grown(10), 16U << 20U);
}

#else

TEST(Jq, IsRefusedWithAWayOut) {
  EXPECT_THAT(refusal({JqFilter{"."}}), HasSubstr("Install libjq with its headers and build again"));
}

#endif

}  // namespace
}  // namespace millrace::ops
