// SPDX-License-Identifier: Apache-2.0
// add_fields and update_fields, byte for byte.
#include <gmock/gmock.h>

#include <tuple>

#include "tests/transforms/transform_testing.h"

namespace millrace::ops {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;
using Computed = FieldValue::Computed;

TEST(AddFields, PutsBehindTheLastFieldAndLeavesTheRestAsItCame) {
  Bench bench({AddFields{{set("b", "2")}}});
  EXPECT_EQ(bench(R"({"a":1})"), R"({"a":1,"b":2})");
  EXPECT_EQ(bench(R"({})"), R"({"b":2})");
  EXPECT_EQ(bench(R"({ })"), R"({"b":2 })");
  EXPECT_EQ(bench("{ \"z\" : 1.50e+3 ,\t\"a\":[ 1 , 2 ] \r\n}"), "{ \"z\" : 1.50e+3 ,\t\"a\":[ 1 , 2 ],\"b\":2 \r\n}");
  EXPECT_EQ(bench(R"({"a":{"b":1}})"), R"({"a":{"b":1},"b":2})");
}

TEST(AddFields, ReplacesWhatStandsThere) {
  Bench bench({AddFields{{set("a", R"({"x":[]})")}}});
  EXPECT_EQ(bench(R"({"z":0, "a" : {"deep":[1,{"a":2}]} , "b":3})"), R"({"z":0, "a" : {"x":[]} , "b":3})");
  EXPECT_EQ(bench(R"({"\u0061":1})"), R"({"\u0061":{"x":[]}})") << "a key is found by what it says";
  EXPECT_EQ(bench(R"({"a":"\"a\":1"})"), R"({"a":{"x":[]}})");
}

TEST(AddFields, AFieldThatIsSetIsThereOnceAfterwards) {
  Bench bench({AddFields{{set("a", "0")}}});
  EXPECT_EQ(bench(R"({"a":1,"b":2,"a":3})"), R"({"b":2,"a":0})");
  EXPECT_EQ(bench(R"({"b":2,"a":1, "\u0061" : 3})"), R"({"b":2, "\u0061" : 0})");
  EXPECT_EQ(bench(R"({"b":2,"b":3})"), R"({"b":2,"b":3,"a":0})") << "others stay as often as they came";
}

TEST(AddFields, NestedPathsAreMadeWhereTheyAreAbsent) {
  Bench bench({AddFields{{set("u.n", "1"), set("u.m.x", "2"), set("k", "3")}}});
  EXPECT_EQ(bench(R"({})"), R"({"u":{"n":1,"m":{"x":2}},"k":3})");
  EXPECT_EQ(bench(R"({"u":{"n":0,"p":9},"q":1})"), R"({"u":{"n":1,"p":9,"m":{"x":2}},"q":1,"k":3})");
  EXPECT_EQ(bench(R"({"u":{},"k":{}})"), R"({"u":{"n":1,"m":{"x":2}},"k":3})");
}

TEST(AddFields, OfAnObjectThatComesTwiceTheLastOneCountsAndTheOtherKeepsNothingOfTheField) {
  Bench bench({AddFields{{set("u.n", "1")}}});
  EXPECT_EQ(bench(R"({"u":{"n":7,"o":8},"u":{"p":9}})"), R"({"u":{"o":8},"u":{"p":9,"n":1}})");
  EXPECT_EQ(bench(R"({"u":5,"u":{"n":2}})"), R"({"u":5,"u":{"n":1}})");
}

TEST(AddFields, AWayThroughSomethingElseThanAnObjectIsARecordError) {
  Bench bench({DeleteFields{paths({"x"})}, AddFields{{set("u.n", "1")}}});
  EXPECT_THAT(bench(R"({"u":[1]})"),
              StartsWith("!wrong_type: 'u.n' cannot be set: 'u' on its way is an array (byte 5)"));
  EXPECT_EQ(bench.runner().failed_at(), 1U);
  EXPECT_THAT(bench(R"({"u":{},"u":null})"), HasSubstr("is null"));
  EXPECT_THAT(bench("[1]"), HasSubstr("'u.n' cannot be set: the document is an array"));
  EXPECT_THAT(bench("7"), HasSubstr("the document is a number"));
  Bench put({UpdateFields{{set("u.a", "0", SetWhen::key_exists), set("u.b.c", "0", SetWhen::key_not_exists)}}});
  EXPECT_THAT(put("[1]"), HasSubstr("'u.b.c' cannot be set: the document is an array"))
      << "not u.a, which needs no object";
  EXPECT_THAT(put(R"({"u":true})"), HasSubstr("'u.b.c' cannot be set: 'u' on its way is a boolean"));
}

TEST(AddFields, WhatIsNoJsonIsARecordErrorOfTheListAsAWhole) {
  Bench bench({AddFields{{set("a", "1")}}});
  EXPECT_THAT(bench(R"({"a":1,})"), StartsWith("!malformed: not valid JSON at byte 7"));
  EXPECT_EQ(bench.runner().failed_at(), 1U);
  EXPECT_THAT(bench("{\"a\":\"\xff\"}"), StartsWith("!invalid_utf8"));
  EXPECT_THAT(bench(R"({"a":01})"), StartsWith("!malformed"));
  EXPECT_EQ(bench(" \t"), "-") << "a blank payload holds no document and is no error";
}

TEST(AddFields, DepthIsBounded) {
  Bench bench({AddFields{{set("a", "1")}}});
  const auto nested = [](int depth) {
    return R"({"d":)" + std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']') + "}";
  };
  const std::string most = nested(1023);
  EXPECT_EQ(bench(most), most.substr(0, most.size() - 1) + R"(,"a":1})");
  EXPECT_THAT(bench(nested(1024)), StartsWith("!limit"));
}

TEST(AddFields, AStaticValueOfSeveralLinesKeepsARecordOnOne) {
  Bench bench({AddFields{{set("a", "{\n\"b\":\r1}")}}});
  EXPECT_EQ(bench("{}"), R"({"a":{ "b": 1}})");
}

TEST(UpdateFields, Conditions) {
  Bench bench(
      {UpdateFields{{set("a", "0", SetWhen::key_exists), set("b", "0", SetWhen::key_not_exists), set("c", "0")}}});
  EXPECT_EQ(bench(R"({"a":1,"b":2,"c":3})"), R"({"a":0,"b":2,"c":0})");
  EXPECT_EQ(bench("{}"), R"({"b":0,"c":0})");
  Bench only({UpdateFields{{set("u.a", "0", SetWhen::key_exists)}}});
  EXPECT_EQ(only(R"({"u": 5 , "v":1})"), R"({"u": 5 , "v":1})")
      << "what is not there is not set, whatever is in the way";
  EXPECT_EQ(only("[ 1 ]"), "[ 1 ]");
}

TEST(UpdateFields, WhereNothingAppliesNoByteChanges) {
  Bench bench({UpdateFields{{set("u.a", "0", SetWhen::key_exists)}}});
  for (const char* document : {R"({"u":{"a":1}, "u":{"b":2}})", R"({"u":{"a":1}, "u":3})",
                               R"({"u":{"a":1,"a":2},"u":{}})", R"({"u":{"b":{"a":1}}})"}) {
    EXPECT_EQ(bench(document), document);
  }
  EXPECT_EQ(bench(R"({"u":{"a":1,"o":2}, "u":{"a":3}})"), R"({"u":{"o":2}, "u":{"a":0}})") << "here it does";
  Bench both({UpdateFields{{set("u.a", "0", SetWhen::key_exists), set("u.c", "1")}}});
  EXPECT_EQ(both(R"({"u":{"a":1,"c":2},"u":{"b":2}})"), R"({"u":{"a":1},"u":{"b":2,"c":1}})") << "each by itself";
}

TEST(FieldValue, TimesOfTheClock) {
  Bench bench({AddFields{{set("t", Computed::date_time), set("n", Computed::timestamp_nanos),
                          set("u", Computed::timestamp_micros), set("m", Computed::timestamp_millis),
                          set("s", Computed::timestamp_seconds)}}});
  bench.clock.advance(std::chrono::microseconds(1'234'567));
  EXPECT_EQ(
      bench("{}"),
      R"({"t":"2023-11-14T22:13:21.234567Z","n":1700000001234567000,"u":1700000001234567,"m":1700000001234,"s":1700000001})");
}

TEST(FieldValue, TimesOfTheRecord) {
  Bench bench({AddFields{{set("t", Computed::record_date_time), set("m", Computed::record_timestamp_millis),
                          set("s", Computed::record_timestamp_seconds)}}});
  bench.meta.timestamp = -1;  // the microsecond before 1970
  EXPECT_EQ(bench("{}"), R"({"t":"1969-12-31T23:59:59.999999Z","m":-1,"s":-1})");
  bench.meta.timestamp = kNoTimestamp;
  Origin origin;
  bench.meta.origin = &origin;
  EXPECT_THAT(bench("{}"),
              StartsWith("!missing_field: 't' cannot be set to record_date_time: the source gives this "
                         "record no time, or one that cannot be written so; take the clock's (date_time)"));
  EXPECT_THAT(Bench({AddFields{{set("u.s", Computed::record_timestamp_seconds)}}})("{}"),
              HasSubstr("'u.s' cannot be set to record_timestamp_seconds"));
  origin.last_modified = 1'700'000'000'000'000;
  EXPECT_EQ(bench("{}"), R"({"t":"2023-11-14T22:13:20.000000Z","m":1700000000000,"s":1700000000})");
}

TEST(FieldValue, ChanceIsAskedForOnlyWhereItIsNeeded) {
  Bench none({AddFields{{set("a", "1"), set("t", Computed::date_time)}}}, 7);
  std::ignore = none("{}");
  EXPECT_EQ(none.random.next(), testing::SeededRandom(7).next()) << "no number of it was taken";
  Bench some({AddFields{{set("a", Computed::uuid_v4)}}}, 7);
  std::ignore = some("{}");
  EXPECT_NE(some.random.next(), testing::SeededRandom(7).next());
}

TEST(FieldValue, UuidsHaveTheirVersionAndVariant) {
  Bench bench({AddFields{{set("a", Computed::uuid_v4), set("b", Computed::uuid_v7)}}});
  const std::string first = bench("{}");
  EXPECT_THAT(first, MatchesRegex(R"re(\{"a":"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",)re"
                                  // 1'700'000'000'000 ms are 0x18bcfe56800.
                                  R"re("b":"018bcfe5-6800-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"\})re"));
  EXPECT_NE(bench("{}"), first);
  EXPECT_EQ(Bench({AddFields{{set("a", Computed::uuid_v4), set("b", Computed::uuid_v7)}}})("{}"), first)
      << "chance is passed in";
  EXPECT_NE(Bench({AddFields{{set("a", Computed::uuid_v4)}}}, 2)("{}").substr(0, 44), first.substr(0, 44));
}

TEST(TransformProgram, SaysWhatMakesOtherBytesOnAReplay) {
  const auto varies = [](TransformSpec spec) {
    return TransformProgram::make({DeleteFields{paths({"x"})}, std::move(spec)})->varies_with();
  };
  EXPECT_EQ(varies(AddFields{{set("a", "1"), set("b", Computed::uuid_v7)}}), "transforms[1] (add_fields): uuid_v7");
  EXPECT_EQ(varies(UpdateFields{{set("b", Computed::date_time)}}), "transforms[1] (update_fields): date_time");
  EXPECT_EQ(varies(AddFields{{set("b", Computed::record_date_time)}}), "");
}

TEST(TransformProgram, RefusesWhatCannotBeMeant) {
  EXPECT_THAT(refusal({AddFields{}}), StartsWith("transforms[0] (add_fields): names no field"));
  EXPECT_THAT(refusal({AddFields{{set("a", "1"), set("a", "2")}}}), HasSubstr("'a' is there twice"));
  EXPECT_THAT(refusal({AddFields{{set("a.b", "1"), set("a", "2")}}}), HasSubstr("one below the other"));
  EXPECT_THAT(refusal({AddFields{{set("a", "1"), set("a.b", "2")}}}), HasSubstr("one below the other"));
  EXPECT_THAT(refusal({AddFields{{set("a", "{1}")}}}), HasSubstr("no JSON"));
  EXPECT_THAT(refusal({AddFields{{set("a", "1", SetWhen::key_exists)}}}), HasSubstr("update_fields"));
}

}  // namespace
}  // namespace millrace::ops
