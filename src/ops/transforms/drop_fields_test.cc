// SPDX-License-Identifier: Apache-2.0
// delete_fields, project, filter_fields, unwrap_envelope, rename and flatten, byte for byte.
#include <gmock/gmock.h>

#include "tests/transforms/transform_testing.h"

namespace millrace::ops {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Key = TextPattern::Kind;
using Value = ValuePattern::Kind;

TEST(FieldPath, DotsAndBackslashes) {
  EXPECT_EQ(path("a.b").names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(path(R"(a\.b.c\\d)").names, (std::vector<std::string>{"a.b", R"(c\d)"}));
  EXPECT_EQ(path(R"(a\.b.c\\d)").text(), R"(a\.b.c\\d)");
  EXPECT_EQ(path("ü y").names, (std::vector<std::string>{"ü y"}));
  for (const char* wrong : {"", ".", "a.", ".a", "a..b", R"(a\)", R"(a\n)", "a\xff"}) {
    EXPECT_FALSE(FieldPath::parse(wrong).has_value()) << wrong;
  }
}

TEST(DeleteFields, TakesItsCommaAlong) {
  Bench bench({DeleteFields{paths({"a", "b"})}});
  EXPECT_EQ(bench(R"({"a":1,"c":2})"), R"({"c":2})");
  EXPECT_EQ(bench(R"({"c":2,"a":1})"), R"({"c":2})");
  EXPECT_EQ(bench(R"({"c":2 , "a":1 , "d" : 3})"), R"({"c":2 , "d" : 3})");
  EXPECT_EQ(bench(R"({"a":1,"b":2})"), R"({})");
  EXPECT_EQ(bench(R"({ "a":1 , "b":2 })"), R"({  })");
  EXPECT_EQ(bench(R"({"a":1,"c":2,"b":3,"d":4,"a":[5]})"), R"({"c":2,"d":4})") << "each of a key that comes twice";
  EXPECT_EQ(bench(R"({"\u0061":{"x":"}"},"\u0062c":1})"), R"({"\u0062c":1})");
}

TEST(DeleteFields, WhereNothingAppliesNoByteChanges) {
  Bench bench({DeleteFields{paths({"a", "u.v.w"})}});
  for (const char* same : {R"({ "b":1.0 , "b":1e400,"c":"\ud83d" })", R"({"u":{"v":[{"w":1}]}})", R"({"u":7})", "[ ]",
                           "null", R"("a")", R"({"x":{"a":1}})", "{ }"}) {
    EXPECT_EQ(bench(same), same);
  }
}

TEST(DeleteFields, NestedAndLiteralDots) {
  Bench bench({DeleteFields{{path("u.v"), path(R"(u\.v)"), FieldPath{{"", "x"}}}}});
  EXPECT_EQ(bench(R"({"u":{"v":1,"w":2},"u.v":3,"":{"x":1}})"), R"({"u":{"w":2},"":{}})");
  EXPECT_EQ(bench(R"({"u":{"v":1},"u":{"v":2}})"), R"({"u":{},"u":{}})");
}

TEST(ProjectFields, KeepsOrderAndBytes) {
  Bench bench({ProjectFields{paths({"id", "u.name"})}});
  EXPECT_EQ(bench(R"({"x":0, "u":{"age":1,"name":"N" },"id": 1.0, "y":[]})"), R"({"u":{"name":"N" },"id": 1.0})");
  EXPECT_EQ(bench(R"({"u":{"age":1}})"), R"({"u":{}})");
  EXPECT_EQ(bench(R"({"u":7,"z":1})"), R"({})") << "what is no object has no field of that name";
  EXPECT_EQ(bench(R"({"id":1,"id":2})"), R"({"id":1,"id":2})");
  EXPECT_EQ(bench(R"({"u":{"name":1},"u":{"name":2},"id":0})"), R"({"u":{"name":2},"id":0})");
  EXPECT_EQ(bench(R"({"u":{"name":1},"u":7})"), R"({})") << "what was shadowed does not come to light";
  EXPECT_THAT(bench("[1]"), StartsWith("!wrong_type: the document is an array"));
}

TEST(FilterFields, KeepFieldsAndPatterns) {
  const FieldPattern meta{TextPattern{Key::starts_with, "meta_"}, {}};
  EXPECT_EQ(Bench({FilterFields{{}, paths({"id"}), {}, true}})(R"({"id":1,"x":2})"), R"({"id":1})");
  EXPECT_EQ(Bench({FilterFields{{}, paths({"id"}), {meta}, true}})(R"({"id":1,"meta_a":2,"x":3})"),
            R"({"id":1,"meta_a":2})");
  EXPECT_EQ(Bench({FilterFields{{}, {}, {meta}, false}})(R"({"id":1,"meta_a":2,"x":3})"), R"({"id":1,"x":3})");
  EXPECT_EQ(Bench({FilterFields{{}, paths({"meta_b"}), {meta}, false}})(R"({"meta_a":2,"meta_b":3})"),
            R"({"meta_b":3})")
      << "a field that is listed stays whatever the patterns say";
  EXPECT_EQ(Bench({FilterFields{{}, {}, {}, true}})(R"({ "id":1})"), R"({ "id":1})") << "without lists it does nothing";
  EXPECT_EQ(Bench({FilterFields{{}, paths({"u.n"}), {}, true}})(R"({"u":{"n":1,"m":2},"x":3})"), R"({"u":{"n":1}})");
  EXPECT_EQ(Bench({FilterFields{path("p.q"), paths({"a"}), {}, true}})(R"({"p":{"q":{"a":1,"b":2},"r":3}})"),
            R"({"p":{"q":{"a":1},"r":3}})");
}

std::string kept(FieldPattern pattern, std::string_view document) {
  return Bench({FilterFields{{}, {}, {std::move(pattern)}, true}})(document);
}

TEST(FilterFields, EveryKeyPattern) {
  constexpr const char* kKeys = R"({"abc":1,"\u0061bd":2,"xab":3})";
  EXPECT_EQ(kept({TextPattern{Key::exact, "abd"}, {}}, kKeys), R"({"\u0061bd":2})");
  EXPECT_EQ(kept({TextPattern{Key::starts_with, "ab"}, {}}, kKeys), R"({"abc":1,"\u0061bd":2})");
  EXPECT_EQ(kept({TextPattern{Key::ends_with, "ab"}, {}}, kKeys), R"({"xab":3})");
  EXPECT_EQ(kept({TextPattern{Key::contains, "b"}, {}}, kKeys), kKeys);
  EXPECT_EQ(kept({TextPattern{Key::regex, "^a.[d-z]$"}, {}}, kKeys), R"({"\u0061bd":2})");
}

TEST(FilterFields, EveryValuePattern) {
  constexpr const char* kValues =
      R"({"n":null,"t":true,"i":10,"f":1.0e1,"big":123456789012345678901234567890.5,"s":"a\u0062c","o":{"x":[1,{"y":2}]},"r":[]})";
  const auto by = [&](Value kind, std::string text = "", std::string above = "") {
    return kept({{}, ValuePattern{kind, std::move(text), std::move(above)}}, kValues);
  };
  EXPECT_EQ(by(Value::equals, "10.00"), R"({"i":10,"f":1.0e1})") << "numbers by their worth";
  EXPECT_EQ(by(Value::equals, R"("abc")"), R"({"s":"a\u0062c"})");
  EXPECT_EQ(by(Value::equals, R"({ "x":[1.0,{"y":2}] })"), R"({"o":{"x":[1,{"y":2}]}})");
  EXPECT_EQ(by(Value::equals, "true"), R"({"t":true})");
  EXPECT_EQ(by(Value::equals, "[]"), R"({"r":[]})");
  EXPECT_EQ(by(Value::contains, "bc"), R"({"s":"a\u0062c"})");
  EXPECT_EQ(by(Value::regex, "b.?$"), R"({"s":"a\u0062c"})");
  EXPECT_EQ(by(Value::greater_than, "123456789012345678901234567890"), R"({"big":123456789012345678901234567890.5})");
  EXPECT_EQ(by(Value::less_than, "10.0000000000000000000001"), R"({"i":10,"f":1.0e1})");
  EXPECT_EQ(by(Value::between, "10", "10"), R"({"i":10,"f":1.0e1})");
  EXPECT_EQ(by(Value::is_null), R"({"n":null})");
  EXPECT_EQ(by(Value::is_string), R"({"s":"a\u0062c"})");
  EXPECT_EQ(by(Value::is_number), R"({"i":10,"f":1.0e1,"big":123456789012345678901234567890.5})");
  EXPECT_EQ(by(Value::is_boolean), R"({"t":true})");
  EXPECT_EQ(by(Value::is_object), R"({"o":{"x":[1,{"y":2}]}})");
  EXPECT_EQ(by(Value::is_array), R"({"r":[]})");
  EXPECT_THAT(by(Value::is_not_null), StartsWith(R"({"t":true,"i")"));
  EXPECT_EQ(kept({TextPattern{Key::contains, "i"}, ValuePattern{Value::less_than, "11", ""}}, kValues), R"({"i":10})")
      << "both where both are given";
}

TEST(FilterFields, RefusesWhatIsNone) {
  const auto refused = [](FieldPattern pattern) { return refusal({FilterFields{{}, {}, {std::move(pattern)}, true}}); };
  EXPECT_THAT(refused({}), HasSubstr("neither key_pattern nor value_pattern"));
  EXPECT_THAT(refused({TextPattern{Key::regex, "("}, {}}), HasSubstr("regex"));
  EXPECT_THAT(refused({{}, ValuePattern{Value::greater_than, "x", ""}}), HasSubstr("numbers"));
  EXPECT_THAT(refused({{}, ValuePattern{Value::between, "1", "\"2\""}}), HasSubstr("numbers"));
  EXPECT_THAT(refused({{}, ValuePattern{Value::equals, "{", ""}}), HasSubstr("JSON value"));
}

TEST(UnwrapEnvelope, TheDocumentBecomesTheValueWhereItLies) {
  Bench bench({UnwrapEnvelope{path("data")}});
  EXPECT_EQ(bench(R"({"op":"c", "data" : {"id": 1.0 } , "x":1})"), R"({"id": 1.0 })");
  EXPECT_EQ(bench(R"({"data":"a b" })"), R"("a b")");
  EXPECT_EQ(bench(R"({"data": 7 })"), "7");
  EXPECT_EQ(bench(R"({"data":1,"data":null})"), "null") << "the last of a key counts";
  EXPECT_EQ(bench(R"({ "op":1 })"), R"({ "op":1 })");
  EXPECT_EQ(bench("[1]"), "[1]");
  Bench deep(
      {UnwrapEnvelope{path("a.b")}, AddFields{{set("c", "1")}}, UnwrapEnvelope{path("d")}, DeleteFields{paths({"e"})}});
  EXPECT_EQ(deep(R"({"a":{"b":{"d":{"e":1,"f":2}}}})"), R"({"f":2})");
}

TEST(RenameFields, InPlace) {
  Bench bench({RenameFields{{{path("a"), "b"}, {path("u.x"), "n.m\""}}}});
  EXPECT_EQ(bench(R"({"z":0, "a" : 1.0,"u":{"x":2}})"), R"({"z":0, "b" : 1.0,"u":{"n.m\"":2}})");
  EXPECT_EQ(bench(R"({"b":1,"a":2,"b":3})"), R"({"b":2})") << "what had the name goes";
  EXPECT_EQ(bench(R"({"a":1,"c":0,"\u0061":2})"), R"({"c":0,"b":2})");
  EXPECT_EQ(bench(R"({ "b":1})"), R"({ "b":1})");
  Bench swap({RenameFields{{{path("a"), "b"}, {path("b"), "a"}}}});
  EXPECT_EQ(swap(R"({"a":1,"b":2})"), R"({"b":1,"a":2})");
  EXPECT_EQ(swap(R"({"b":2})"), R"({"a":2})");
  EXPECT_THAT(refusal({RenameFields{{{path("a"), "c"}, {path("b"), "c"}}}}), HasSubstr("called 'c'"));
  EXPECT_THAT(refusal({RenameFields{{{path("a"), "a"}}}}), HasSubstr("already"));
}

TEST(RenameFields, OfAnObjectThatComesTwiceTheLastOneCountsAndTheOthersKeepNothingOfTheField) {
  Bench bench({RenameFields{{{path("u.x"), "y"}}}});
  EXPECT_EQ(bench(R"({"u":{"x":1,"o":2},"u":{"x":3}})"), R"({"u":{"o":2},"u":{"y":3}})");
  EXPECT_EQ(bench(R"({"u":{"y":1,"x":2},"u":{"x":3}})"), R"({"u":{},"u":{"y":3}})");
  EXPECT_EQ(bench(R"({"u":{"x":1}, "u":{"o":2}})"), R"({"u":{"x":1}, "u":{"o":2}})") << "nothing is renamed";
  EXPECT_EQ(bench(R"({"u":{"x":1,"y":0}, "u":3})"), R"({"u":{"x":1,"y":0}, "u":3})");
  std::string document = "{";
  for (int i = 0; i < 100; ++i) document += R"("u":{"x":1},)";
  document += R"("u":{"x":1}})";
  Bench longer({RenameFields{{{path("u.x"), "a name that is longer"}}}});
  EXPECT_LE(longer(document).size(), longer.program().grown(document.size()));
}

TEST(FlattenFields, BracesGoAndNamesAreJoined) {
  Bench bench({FlattenFields{}});
  EXPECT_EQ(bench(R"({"a":{"b":1,"c":{"d":2.0, "e":[{"f":1}]} },"g":{},"h":{"i":{}}})"),
            R"({"a.b":1,"a.c.d":2.0, "a.c.e":[{"f":1}],"g":{},"h.i":{}})");
  EXPECT_EQ(bench(R"({ "a" : { "b" : 1 } , "c" : 2 })"), R"({ "a.b" : 1 , "c" : 2 })");
  EXPECT_EQ(bench(R"({"\u0061":{"b\"":1}})"), R"({"\u0061.b\"":1})");
  EXPECT_EQ(bench(R"({ "a":1 })"), R"({ "a":1 })");
  EXPECT_EQ(bench("[ {\"a\":{\"b\":1}} ]"), "[ {\"a\":{\"b\":1}} ]");
  EXPECT_EQ(Bench({FlattenFields{"_", 1}})(R"({"a":{"b":{"c":1}}})"), R"({"a_b":{"c":1}})");
  EXPECT_EQ(Bench({FlattenFields{"\"", 0}})(R"({"a":{"b":1}})"), R"({"a\"b":1})");
}

TEST(FlattenFields, NamesThatMeetAndNamesWithoutEndAreRecordErrors) {
  Bench bench({FlattenFields{}});
  EXPECT_THAT(bench(R"({"a.b":1,"a":{"b":2}})"), StartsWith("!duplicate_key"));
  EXPECT_THAT(bench(R"({"a\u002eb":1,"a":{"b":2}})"), StartsWith("!duplicate_key"));
  EXPECT_THAT(bench(R"({"a":{"b":1},"a":2})"), StartsWith("!duplicate_key: the document cannot be flattened"));
  EXPECT_THAT(bench(R"({"x":{"a":{"b":1},"\u0061":2}})"), StartsWith("!duplicate_key")) << "at any level";
  EXPECT_EQ(bench(R"({"a":1,"a":2})"), R"({"a":1,"a":2})") << "nothing to take out";
  EXPECT_EQ(bench(R"({"a":{"b":[{"c":1,"c":2}]}})"), R"({"a.b":[{"c":1,"c":2}]})");
  std::string fields;
  for (int i = 0; i < 1000; ++i) fields += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
  EXPECT_THAT(bench("{\"" + std::string(5000, 'n') + "\":{" + fields + "}}"), StartsWith("!too_large"));
  EXPECT_THAT(bench("{\"" + std::string(5000, 'n') + "\":{" + fields + "}}"),
              HasSubstr("flatten fewer levels (depth)"));
  std::string deep = "1";
  for (int i = 0; i < 1000; ++i) deep = R"({"a":)" + deep + "}";
  EXPECT_EQ(bench(deep).size(), 2 * 1000 - 1 + 6U);
}

}  // namespace
}  // namespace millrace::ops
