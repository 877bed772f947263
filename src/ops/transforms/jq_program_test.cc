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
  EXPECT_THAT(Bench({JqFilter{"error(null)"}}).all("1").size(), 0U) << "jq's way to say nothing";
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
  EXPECT_THAT(refusal({JqFilter{std::string("a\0b", 3)}}), HasSubstr("null byte"));
}

TEST(Jq, AsksForTheTimeAndMultiplies) {
  EXPECT_EQ(TransformProgram::make({JqFilter{".t = now"}})->varies_with(), "transforms[0] (jq): now");
  EXPECT_EQ(TransformProgram::make({JqFilter{".known"}})->varies_with(), "");
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
