// SPDX-License-Identifier: Apache-2.0
// Typed reading: values by hand, and each kind of fault with its field and byte.
#include "millrace/decode/json_cursor.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "millrace/decode/json_read.h"

namespace shop {

struct User {
  std::uint64_t id = 0;
  std::string tier;
  bool active = false;
};
MILLRACE_JSON_FIELDS(User, id, tier, active);

struct Order {
  std::int32_t number = 0;
  std::string_view customer;
  double amount = 0;
  std::optional<std::string> note;
  std::vector<User> users;
  std::optional<User> owner;
};
MILLRACE_JSON_FIELDS(Order, number, customer, amount, note, users, owner);

struct One {
  std::uint8_t small = 0;
};
MILLRACE_JSON_FIELDS(One, small);

struct Tree {
  std::vector<Tree> under;
};
MILLRACE_JSON_FIELDS(Tree, under);

struct Odd {
  millrace::decode::Json any;
  std::vector<bool> flags;
  float narrow = 0;
};
constexpr auto millrace_json_fields(const Odd*) {
  return std::tuple(millrace::json_field("any-thing", &Odd::any), millrace::json_field("flags", &Odd::flags),
                    millrace::json_field("narrow", &Odd::narrow));
}

// A type with a spelling of its own.
struct Cents {
  std::int64_t count = 0;
};
bool read_json(millrace::JsonCursor& cursor, Cents& value) {
  double units = 0;
  if (!cursor.read(units)) return false;
  value.count = static_cast<std::int64_t>(units * 100);
  return true;
}
struct Price {
  Cents price;
};
MILLRACE_JSON_FIELDS(Price, price);

}  // namespace shop

namespace millrace {
namespace {

template <class T>
struct Read {
  T value{};
  std::optional<Error> error;
};

struct Policy {
  UnknownFields unknown_fields = UnknownFields::reject;
  bool reject_duplicate_keys = false;
};

// Reads from `document`, which must outlive the value; the cursor does too, as a lane's does.
template <class T>
Read<T> read(std::string_view document, Policy policy = {}) {
  static JsonCursor cursor;
  cursor.unknown_fields(policy.unknown_fields);
  cursor.reject_duplicate_keys(policy.reject_duplicate_keys);
  Read<T> result;
  if (!cursor.open(document, 0) || !read_json(cursor, result.value) || !cursor.close()) result.error = cursor.error();
  return result;
}

template <class T>
std::string why_not(std::string_view document, Policy policy = {}) {
  const auto result = read<T>(document, policy);
  if (!result.error) return "it was taken";
  EXPECT_TRUE(result.error->is_record());
  return std::string(to_string(result.error->code())) + ": " + result.error->message();
}

TEST(JsonCursor, ReadsEachKindOfMember) {
  const auto [order, error] = read<shop::Order>(
      R"( {"number": -7, "customer":"J\u00fcrgen \"J\" \ud83d\ude80", "amount":12.5e1 ,"note":null,)"
      R"("users":[{"id":18446744073709551615,"tier":"gold","active":true},{"active":false,"id":0,"tier":""}],"owner":{"id":3,"tier":"x","active":true}} )");
  ASSERT_FALSE(error.has_value()) << error->message();
  EXPECT_EQ(order.number, -7);
  EXPECT_EQ(order.customer, "J\xC3\xBCrgen \"J\" \xF0\x9F\x9A\x80");
  EXPECT_EQ(order.amount, 125.0);
  EXPECT_EQ(order.note, std::nullopt);
  ASSERT_EQ(order.users.size(), 2U);
  EXPECT_EQ(order.users[0].id, 18446744073709551615U);
  EXPECT_EQ(order.users[0].tier, "gold");
  EXPECT_TRUE(order.users[0].active);
  EXPECT_EQ(order.users[1].tier, "");
  ASSERT_TRUE(order.owner.has_value());
  EXPECT_EQ(order.owner->id, 3U);
}

TEST(JsonCursor, ReadsKeysByWhatTheySayAndByNamesOfTheirOwn) {
  EXPECT_EQ(read<shop::One>(R"({"sm\u0061ll":9})").value.small, 9);
  const auto odd =
      read<shop::Odd>(R"({"flags":[true,false],"narrow":0.5,"any-thing":{"z":[1, 2.50],"a":null} })").value;
  EXPECT_EQ(odd.any.view, R"({"z":[1, 2.50],"a":null})");
  EXPECT_EQ(odd.flags, (std::vector<bool>{true, false}));
  EXPECT_EQ(odd.narrow, 0.5F);
  EXPECT_EQ(read<shop::Price>(R"({"price":1.25})").value.price.count, 125);
}

TEST(JsonCursor, BorrowsThePayloadWhereNothingIsEscaped) {
  JsonCursor cursor;
  std::string room = R"(["plain","esc\naped"])";
  const std::size_t size = room.size();
  room.resize(size + kBytePadding);
  std::vector<std::string_view> texts;
  ASSERT_TRUE(cursor.open({room.data(), size}, kBytePadding) && read_json(cursor, texts) && cursor.close());
  EXPECT_EQ(texts, (std::vector<std::string_view>{"plain", "esc\naped"}));
  EXPECT_EQ(texts[0].data(), room.data() + 2);
}

TEST(JsonCursor, AValueThatIsReadAgainForgetsTheLastOne) {
  JsonCursor cursor;
  shop::Order order;
  const auto take = [&](std::string_view document) {
    EXPECT_TRUE(cursor.open(document, 0) && read_json(cursor, order) && cursor.close()) << cursor.error().message();
  };
  take(
      R"({"number":1,"customer":"a","amount":1,"note":"n","users":[{"id":1,"tier":"t","active":true}],"owner":{"id":1,"tier":"t","active":true}})");
  take(R"({"number":2,"customer":"b","amount":2,"users":[]})");
  EXPECT_EQ(order.note, std::nullopt);
  EXPECT_EQ(order.owner, std::nullopt);
  EXPECT_TRUE(order.users.empty());
}

TEST(JsonCursor, MissingFieldsAreNamed) {
  EXPECT_EQ(why_not<shop::User>(R"({"id":1,"active":true})"),
            "missing_field: field 'tier' (byte 22): the record has no such field");
  EXPECT_EQ(why_not<shop::Order>(R"({"number":1,"customer":"c","amount":1,"users":[{"id":1,"tier":"a"}]})"),
            "missing_field: field 'users[0].active' (byte 66): the record has no such field");
}

TEST(JsonCursor, ExtraFieldsAreRefusedOrSteppedOver) {
  const std::string_view document = R"({"small":1,"extra":{"a":[1,{"b":2}]}})";
  EXPECT_EQ(why_not<shop::One>(document),
            "unknown_field: field 'extra' (byte 11): the record's type has no such field");
  EXPECT_EQ(read<shop::One>(document, {UnknownFields::ignore, false}).value.small, 1);
  EXPECT_EQ(why_not<shop::One>(R"({"small":1,"extra":{"a":[1,{"b":tru}]}})", {UnknownFields::ignore, false}),
            "malformed: not valid JSON at byte 32: expected a value")
      << "what is stepped over is checked all the same";
}

TEST(JsonCursor, ExtraFieldsAreToldWithTheirKeys) {
  JsonCursor cursor;
  cursor.unknown_fields(UnknownFields::tell);
  ASSERT_TRUE(cursor.open(R"({"x":[1, 2],"known":3,"\u0061\"":null})", 0));
  ASSERT_TRUE(cursor.enter_object());
  const std::string_view names[] = {"known"};
  decode::Json value;
  EXPECT_EQ(cursor.next_field(names, 1, 0), JsonCursor::kUnknown);
  EXPECT_EQ(cursor.unknown_key(), "x");
  ASSERT_TRUE(cursor.read(value));
  EXPECT_EQ(value.view, "[1, 2]");
  EXPECT_EQ(cursor.next_field(names, 1, 0), 0);
  ASSERT_TRUE(cursor.read(value));
  EXPECT_EQ(cursor.next_field(names, 1, 0), JsonCursor::kUnknown);
  EXPECT_EQ(cursor.unknown_key(), "a\"");
  EXPECT_TRUE(cursor.take_null());
  EXPECT_EQ(cursor.next_field(names, 1, 0), JsonCursor::kEnd);
  EXPECT_TRUE(cursor.close());
}

TEST(JsonCursor, RepeatedFieldsAreRefused) {
  EXPECT_EQ(why_not<shop::One>(R"({"small":1,"small":2})"),
            "duplicate_key: field 'small' (byte 19): the record has this field twice");
  const std::string_view within = R"({"small":1,"extra":{"a":1,"a":2}})";
  EXPECT_FALSE(read<shop::One>(within, {UnknownFields::ignore, false}).error.has_value());
  EXPECT_EQ(why_not<shop::One>(within, {UnknownFields::ignore, true}),
            "duplicate_key: an object has the key that begins here twice (byte 26)");
}

TEST(JsonCursor, WrongTypesAreNamedWithWhatWasFound) {
  EXPECT_EQ(why_not<shop::User>(R"({"id":"1"})"),
            "wrong_type: field 'id' (byte 6): expected a whole number, found a string");
  EXPECT_EQ(why_not<shop::User>(R"({"id":1,"tier":2})"),
            "wrong_type: field 'tier' (byte 15): expected a string, found a number");
  EXPECT_EQ(why_not<shop::User>(R"({"id":1,"active":null})"),
            "wrong_type: field 'active' (byte 17): expected true or false, found null");
  EXPECT_EQ(why_not<shop::Order>(R"({"number":1,"users":{}})"),
            "wrong_type: field 'users' (byte 20): expected an array, found an object");
  EXPECT_EQ(why_not<shop::Order>(R"({"number":1,"owner":[]})"),
            "wrong_type: field 'owner' (byte 20): expected an object, found an array");
  EXPECT_EQ(why_not<shop::Order>(R"({"amount":true})"),
            "wrong_type: field 'amount' (byte 10): expected a number, found a boolean");
  EXPECT_EQ(why_not<shop::One>("[1]"), "wrong_type: the record (byte 0): expected an object, found an array");
  EXPECT_EQ(why_not<shop::User>(R"({"tier":"\ud83d"})"),
            "wrong_type: field 'tier' (byte 8): expected text, found half of a surrogate pair in it");
}

TEST(JsonCursor, IntegersMustFitAndBeWhole) {
  EXPECT_EQ(read<shop::One>(R"({"small":255})").value.small, 255);
  EXPECT_EQ(read<shop::One>(R"({"small":-0})").value.small, 0);
  EXPECT_EQ(why_not<shop::One>(R"({"small":256})"),
            "wrong_type: field 'small' (byte 9): expected a whole number from 0 to 255, found 256");
  EXPECT_EQ(why_not<shop::One>(R"({"small":-1})"),
            "wrong_type: field 'small' (byte 9): expected a whole number from 0 to 255, found -1");
  EXPECT_EQ(why_not<shop::One>(R"({"small":1.0})"),
            "wrong_type: field 'small' (byte 9): expected a whole number from 0 to 255, found 1.0");
  EXPECT_EQ(why_not<shop::One>(R"({"small":1e2})"),
            "wrong_type: field 'small' (byte 9): expected a whole number from 0 to 255, found 1e2");
  EXPECT_EQ(read<std::int64_t>("-9223372036854775808").value, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(read<std::int64_t>("9223372036854775807").value, std::numeric_limits<std::int64_t>::max());
  EXPECT_TRUE(read<std::int64_t>("9223372036854775808").error.has_value());
  EXPECT_TRUE(read<std::uint64_t>("18446744073709551616").error.has_value());
  EXPECT_EQ(read<std::int8_t>("-128").value, -128);
  EXPECT_TRUE(read<std::int8_t>("-129").error.has_value());
}

TEST(JsonCursor, DoublesAreTheNearestAndMustBeFinite) {
  EXPECT_EQ(read<double>("0.1").value, 0.1);
  EXPECT_EQ(read<double>("1e308").value, 1e308);
  EXPECT_EQ(read<double>("123456789012345678901234567890").value, 123456789012345678901234567890.0);
  EXPECT_EQ(read<double>("1e-400").value, 0.0);
  EXPECT_EQ(read<double>("-0.00000e-999999999999999999999").value, 0.0);
  EXPECT_EQ(read<double>("0e999999999999999999999").value, 0.0);
  EXPECT_EQ(why_not<double>("1e309"),
            "wrong_type: the record (byte 0): expected a number that fits a double, found 1e309");
  EXPECT_EQ(why_not<double>(std::string(400, '9')).substr(0, 60),
            "wrong_type: the record (byte 0): expected a number that fits");
  EXPECT_EQ(read<double>("0.01e310").value, 1e308);
  EXPECT_TRUE(read<double>("0.1e310").error.has_value());
  EXPECT_TRUE(read<float>("1e39").error.has_value());
  EXPECT_EQ(read<float>("1e38").value, 1e38F);
}

TEST(JsonCursor, C10_WhatIsMalformedIsCalledThatWhateverTheTypeSays) {
  EXPECT_EQ(why_not<shop::One>(R"({"small":1}{"small":2})").substr(0, 80),
            "malformed: not valid JSON at byte 11: something follows the end of the document;");
  EXPECT_EQ(why_not<shop::One>(R"({"small":"x","b":tru})"), "malformed: not valid JSON at byte 17: expected a value");
  EXPECT_EQ(why_not<shop::One>(R"({"small":1,"small":2)"),
            "malformed: not valid JSON at byte 20: the document ends before the value is whole");
  EXPECT_EQ(why_not<shop::One>(R"({"small":01})"), "malformed: not valid JSON at byte 9: expected a value");
  EXPECT_EQ(why_not<shop::One>(R"({"small" 1})"), "malformed: not valid JSON at byte 9: expected ':' behind the key");
  EXPECT_EQ(why_not<shop::One>(R"({"small":1,})").substr(0, 66),
            "malformed: not valid JSON at byte 11: expected a key in double quo");
  EXPECT_EQ(why_not<shop::One>(R"({"small":1)"),
            "malformed: not valid JSON at byte 10: the document ends before the value is whole");
  EXPECT_EQ(why_not<std::vector<bool>>("[true,flase]"), "malformed: not valid JSON at byte 6: expected a value");
  EXPECT_EQ(why_not<std::vector<bool>>("[true"),
            "malformed: not valid JSON at byte 5: the document ends before the value is whole");
  EXPECT_EQ(why_not<std::optional<bool>>("nulll"), "malformed: not valid JSON at byte 0: expected a value");
  EXPECT_EQ(why_not<std::vector<int>>("[+1]"), "malformed: not valid JSON at byte 1: expected a value");
}

TEST(JsonCursor, C07_InvalidUtf8IsCalledThat) {
  EXPECT_EQ(why_not<shop::User>("{\"id\":1,\"tier\":\"\xFF\"}"),
            "invalid_utf8: not valid JSON at byte 16: the bytes here are not UTF-8");
}

TEST(JsonCursor, NestsAsDeepAsUntypedDocuments) {
  const auto nested = [](std::size_t depth) {
    std::string text = R"({"under":[]})";
    for (std::size_t i = 1; i < depth; ++i) text = R"({"under":[)" + text + "]}";
    return text;
  };
  EXPECT_FALSE(read<shop::Tree>(nested(512)).error.has_value());
  EXPECT_EQ(why_not<shop::Tree>(nested(513)).substr(0, 5), "limit");
}

}  // namespace
}  // namespace millrace
