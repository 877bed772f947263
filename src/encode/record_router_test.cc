// SPDX-License-Identifier: Apache-2.0
// The route of a record, worked out by hand; and for any document that of a model which knows the values.
#include "millrace/encode/record_router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <optional>
#include <string>

namespace routed {

struct Order {
  std::string region;
  std::int64_t id = 0;
};
MILLRACE_JSON_FIELDS(Order, region, id);

struct Opaque {};

}  // namespace routed

namespace millrace {
namespace {

using decode::Bytes;
using decode::Json;
using decode::Text;
using From = RouteSpec::Part::From;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

RouteSpec fields(const std::vector<std::string>& names) {
  RouteSpec spec;
  for (const std::string& name : names) spec.parts.push_back({From::field, name});
  return spec;
}

template <class T>
std::string route(RecordRouter& router, const T& record, const RecordMeta& meta = {}) {
  const auto found = router.route(record, meta);
  return found ? std::string(*found) : std::string(to_string(found.error().code())) + ": " + found.error().message();
}

std::string route_of(const RouteSpec& spec, std::string_view document) {
  RecordRouter router(spec);
  return route(router, Bytes{document});
}

constexpr const char* kMissing = "__HIVE_DEFAULT_PARTITION__";

TEST(RecordRouter, ScalarsAsTheyAreSpelled) {
  EXPECT_EQ(route_of(fields({"a"}), R"({"a":"eu-west"})"), "eu-west");
  EXPECT_EQ(route_of(fields({"a"}), R"({"b":{"a":"no"},"a" : 1.50 })"), "1.50");
  EXPECT_EQ(route_of(fields({"a"}), R"({"a":true})"), "true");
  EXPECT_EQ(route_of(fields({"a", "b"}), R"({"b":2,"a":-1e3})"), "-1e3/2");
  EXPECT_EQ(route_of(fields({"a"}), R"({"a":"\u00e9t\u00e9 \"x\"\/"})"), "_t___x__");
  EXPECT_EQ(route_of(fields({"a"}), "{\"\\u0061\":7}"), "7") << "a name with escapes is the name";
}

TEST(RecordRouter, ThePathOfAFieldLeadsInside) {
  const RouteSpec spec = fields({"user.id", "user.address.city", "user"});
  EXPECT_EQ(route_of(spec, R"({"user":{"address":{"city":"Ulm","zip":[1]},"id":"u1"}})"),
            std::string("u1/Ulm/") + kMissing);
  EXPECT_EQ(route_of(spec, R"({"user":"me"})"), std::string(kMissing) + "/" + kMissing + "/me");
  EXPECT_EQ(route_of(spec, R"({"user":{"id":1},"user":{"id":2}})"), std::string("2/") + kMissing + "/" + kMissing);
  EXPECT_EQ(route_of(spec, R"({"user":{"id":1},"user":3})"), std::string(kMissing) + "/" + kMissing + "/3")
      << "of a name that comes twice the last counts, with all that is inside";
}

// Absent, null, empty, an object, an array, no document: a name for all of them, and each is counted.
TEST(RecordRouter, L03_RecordsWithoutTheValueHaveAPlaceOfTheirOwn) {
  RecordRouter router(fields({"a"}));
  for (const char* document : {R"({"b":1})", R"({"a":null})", R"({"a":""})", R"({"a":{"b":1}})", R"({"a":[1]})", "{}",
                               "[]", "7", "no json", "", R"({"a":1)", R"({"a":1} x)"}) {
    EXPECT_EQ(route(router, Bytes{document}), kMissing) << document;
  }
  EXPECT_THAT(router.fallbacks(), ElementsAre(Pair(ErrorCode::missing_field, 6), Pair(ErrorCode::wrong_type, 2),
                                              Pair(ErrorCode::malformed, 4)));
  router.clear_counts();
  EXPECT_THAT(router.fallbacks(), IsEmpty());
  EXPECT_EQ(route(router, Text{R"({"a":1})"}), kMissing) << "text is a string, which has no fields";
}

TEST(RecordRouter, L03_OrTheyAreRefusedByName) {
  RouteSpec spec = fields({"a"});
  spec.on_missing = RouteSpec::OnMissing::fail;
  EXPECT_THAT(route_of(spec, R"({"a":null})"), AllOf(HasSubstr("missing_field: the record names no key: {field.a}"),
                                                     HasSubstr("absent, null or empty"), HasSubstr(kMissing)));
  EXPECT_THAT(route_of(spec, R"({"a":{}})"),
              HasSubstr("wrong_type: the record names no key: {field.a} holds an object"));
  EXPECT_THAT(route_of(spec, "x"), HasSubstr("malformed:"));
  EXPECT_THAT(route_of(spec, "{\"a\":\"" + std::string(256, 'x') + "\"}"), HasSubstr("too_large:"));
  EXPECT_EQ(route_of(spec, "{\"a\":\"" + std::string(255, 'x') + "\"}"), std::string(255, 'x'));
  RecordRouter router(spec);
  const auto refused = router.route(Bytes{"{}"}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error_class(), ErrorClass::record);
  EXPECT_THAT(router.fallbacks(), IsEmpty());
}

TEST(RecordRouter, KeysAndHeaders) {
  RouteSpec spec;
  spec.parts = {{From::key, ""}, {From::header, "tenant"}};
  RecordRouter router(spec);
  const Header headers[] = {{"tenant", "old"}, {"x", "y"}, {"tenant", "a/b"}};
  RecordMeta meta;
  meta.key = "k 1";
  meta.has_key = true;
  meta.headers = headers;
  meta.header_count = 3;
  EXPECT_EQ(route(router, Bytes{"no json is looked at"}, meta), "k_1/a_b");
  EXPECT_EQ(route(router, Bytes{""}), std::string(kMissing) + "/" + kMissing);
  EXPECT_THAT(router.fallbacks(), ElementsAre(Pair(ErrorCode::missing_field, 2)));
}

TEST(RecordRouter, TypedRecordsAreLookedIntoAsTheyAreWritten) {
  RecordRouter router(fields({"region", "id"}));
  const routed::Order order{"eu", 7};
  EXPECT_EQ(route(router, order), "eu/7");
  EXPECT_EQ(route(router, Json{R"({"region":"us","id":1})"}), "us/1");
  EXPECT_EQ(route(router, std::string(R"({"region":"us","id":2})")), "us/2");
  EXPECT_EQ(route(router, routed::Opaque{}), std::string(kMissing) + "/" + kMissing);
}

// A value never ends its segment, is never a way to another folder, and never hidden where that matters.
TEST(RecordRouter, ValuesStayInTheirSegment) {
  RouteSpec spec = fields({"a"});
  EXPECT_EQ(route_of(spec, R"({"a":"../../etc"})"), ".._.._etc");
  EXPECT_EQ(route_of(spec, R"({"a":".."})"), "__");
  spec.names = NameEncoding::percent;
  EXPECT_EQ(route_of(spec, R"({"a":".."})"), "%2E%2E");
  EXPECT_EQ(route_of(spec, R"({"a":"a/b\u0000"})"), "a%2Fb%00");
  spec.hides_dots = true;
  EXPECT_EQ(route_of(spec, R"({"a":".hid"})"), "%2Ehid");
}

// Any document of any shape: never more parts than asked for, and for values that are known exactly those.
RC_GTEST_PROP(RecordRouterProperty, EveryDocumentHasARouteOfItsParts, (const std::string& junk)) {
  RouteSpec spec = fields({"a", "b.c"});
  spec.names = *rc::gen::element(NameEncoding::replace, NameEncoding::percent);
  const std::string found = route_of(spec, junk);
  RC_ASSERT(std::ranges::count(found, '/') == 1);
}

RC_GTEST_PROP(RecordRouterProperty, TheValuesOfTheDocument, ()) {
  // Values whose JSON and whose place in a key are known without a parser.
  const auto value = rc::gen::element<std::pair<std::string, std::string>>(
      std::pair("\"x\"", "x"), std::pair("12", "12"), std::pair("\"a b\"", "a%20b"), std::pair("null", kMissing),
      std::pair("[1,{\"a\":2}]", kMissing), std::pair("\"\\n\"", "%0A"), std::pair("false", "false"));
  RouteSpec spec = fields({"a", "b.c"});
  spec.names = NameEncoding::percent;
  RecordRouter router(spec);
  for (int record = 0; record < 5; ++record) {
    std::string a = kMissing;
    std::string c = kMissing;
    std::string document = "{";
    const auto add = [&](const std::string& name, const std::string& json) {
      document += (document.size() > 1 ? ",\"" : "\"") + name + "\":" + json;
    };
    for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
      const auto [json, place] = *value;
      switch (*rc::gen::inRange(0, 4)) {
        case 0:
          add("a", json);
          a = place;
          break;
        case 1:
          add("b", "{\"a\":9,\"c\":" + json + "}");
          c = place;
          break;
        case 2:
          add("b", json);
          c = kMissing;
          break;
        default:
          add("c", json);
          break;
      }
    }
    document += "}";
    RC_ASSERT(route(router, Bytes{document}) == a + "/" + c);
  }
}

}  // namespace
}  // namespace millrace
