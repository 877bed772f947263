// SPDX-License-Identifier: Apache-2.0
// Which documents are JSON: by hand, against a second opinion (strict_json.h), and whatever lies behind the document.
#include "millrace/decode/json_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "decode/strict_json.h"

namespace millrace {
namespace {

using std::string_literals::operator""s;

// The checker's answer with a copy made, and in place in front of bytes that would like to belong to the document.
bool accepts(std::string_view document) {
  JsonChecker checker;
  decode::Json json;
  const bool copied = checker.check(document, 0, json);
  for (const std::string behind : {"0123456789", "\"}]:,", "\\\\\\\\\\", "\n\n\n\n", "\xFF\xFF\xFF"}) {
    std::string room(document);
    while (room.size() < document.size() + kBytePadding) room += behind;
    const std::string before = room;
    const std::string_view in_place(room.data(), document.size());
    EXPECT_EQ(checker.check(in_place, room.size() - document.size(), json), copied) << document << " before " << behind;
    EXPECT_EQ(room, before) << "the payload is never rewritten";
    if (copied) {
      EXPECT_EQ(json.view.data(), in_place.data());
    }
  }
  return copied;
}

Error why_not(std::string_view document) {
  JsonChecker checker;
  decode::Json json;
  EXPECT_FALSE(checker.check(document, 0, json)) << document;
  return checker.error();
}

TEST(JsonChecker, TakesWhatTheGrammarAllows) {
  for (const std::string& document :
       {"{}"s,
        "[]"s,
        "0"s,
        "-0"s,
        "-0.0"s,
        "1"s,
        "12.5"s,
        "1e5"s,
        "1E+5"s,
        "1e-5"s,
        "-1.25e-30"s,
        "\"\""s,
        "true"s,
        "false"s,
        "null"s,
        " \t\r\n{ \"a\" : [ 1 , 2 ] } \n"s,
        R"({"a":{"b":{"c":[[],{},[{}]]}}})"s,
        R"(["\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00"])"s,
        "123456789012345678901234567890123456789012345678901234567890"s,  // no type has to hold it
        "1e999999"s,
        "-1e-999999"s,
        "0.1234567890123456789012345678901234567890"s,
        R"({"a":1,"a":2})"s,  // repeated keys pass unless refused
        R"(["\ud800"])"s,     // half a surrogate pair is right by the grammar
        "\"\x7F\xC2\x80\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF\""s,
        R"("{[}],:")"s,
        R"(["a" , "b" ])"s}) {
    EXPECT_TRUE(accepts(document)) << document;
  }
}

TEST(JsonChecker, C10_RefusesWhatTheGrammarDoesNotAllow) {
  for (const std::string& document : {""s,
                                      " "s,
                                      "{"s,
                                      "}"s,
                                      "["s,
                                      "]"s,
                                      ","s,
                                      ":"s,
                                      "tru"s,
                                      "truee"s,
                                      "true1"s,
                                      "True"s,
                                      "nul"s,
                                      "nulll"s,
                                      "01"s,
                                      "-"s,
                                      "-01"s,
                                      "+1"s,
                                      "1."s,
                                      ".5"s,
                                      "1.e5"s,
                                      "1e"s,
                                      "1e+"s,
                                      "0x10"s,
                                      "1_000"s,
                                      "NaN"s,
                                      "-Infinity"s,
                                      "1 2"s,
                                      "1,2"s,
                                      "\"a\" \"b\""s,
                                      R"({"a":1}{"a":2})"s,
                                      R"({"n":1}{"n":2}{"n":3})"s,
                                      "{}{}"s,
                                      "[][]"s,
                                      "{} x"s,
                                      "{}\0"s,
                                      "[1,2}"s,
                                      "{\"a\":1]"s,
                                      "{\"a\":1,}"s,
                                      "[1,]"s,
                                      "[,1]"s,
                                      "[1 2]"s,
                                      "{\"a\" 1}"s,
                                      "{\"a\":}"s,
                                      "{\"a\"}"s,
                                      "{a:1}"s,
                                      "{1:1}"s,
                                      "{\"a\":1 \"b\":2}"s,
                                      "{\"a\":1,,\"b\":2}"s,
                                      "{\"a\"::1}"s,
                                      "'a'"s,
                                      "\"a"s,
                                      "a\""s,
                                      R"("\x41")"s,
                                      R"("\u12")"s,
                                      R"("\u123g")"s,
                                      R"("\")"s,
                                      "\\"s,
                                      R"([\"a\"])"s,
                                      R"(["a"\])"s,
                                      "\"a\nb\""s,
                                      "\"a\tb\""s,
                                      "\"a\0b\""s,
                                      "\"\x1F\""s,
                                      "\xEF\xBB\xBF{}"s,
                                      "\xFF"s,
                                      "\"\xFF\""s,
                                      "\"\xC0\x80\""s,
                                      "\"\xED\xA0\x80\""s,
                                      "\"\xF4\x90\x80\x80\""s,
                                      "\"\xE2\x82\""s,
                                      "// c\n1"s,
                                      "/* */1"s,
                                      "{\"a\":1}#"s,
                                      "1\x0B"s,
                                      "\x0C"
                                      "1"s,
                                      "\xA0"
                                      "1"s,
                                      "[1,\n2,\n3"s,
                                      "{\"a\":tru,\"b\":1}"s,
                                      "1\"b\""s,
                                      "true\"b\""s,
                                      "{\"a\":1\"b\":2}"s}) {
    EXPECT_FALSE(accepts(document)) << document;
  }
}

TEST(JsonChecker, CountsNestingUpToItsLimit) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(accepts(nested(1024)));
  EXPECT_FALSE(accepts(nested(1025)));
  EXPECT_EQ(why_not(nested(1025)).code(), ErrorCode::limit);
  EXPECT_EQ(why_not(std::string(100'000, '[')).code(), ErrorCode::limit);
  std::string objects = "1";
  for (int i = 0; i < 1024; ++i) objects = "{\"a\":" + objects + "}";
  EXPECT_TRUE(accepts(objects));
  EXPECT_FALSE(accepts("[" + objects + "]"));
}

TEST(JsonChecker, C07_InvalidUtf8IsCalledThatAndNamesTheByte) {
  const Error error = why_not("{\"n\":\"\xFF\"}");
  EXPECT_EQ(error.code(), ErrorCode::invalid_utf8);
  EXPECT_TRUE(error.is_record());
  EXPECT_EQ(error.message(), "not valid JSON at byte 6: the bytes here are not UTF-8");
  EXPECT_EQ(why_not("{\"n\":\"\xED\xA0\x80\"}").code(), ErrorCode::invalid_utf8);
  EXPECT_EQ(why_not("{\"n\":\"\xFF").code(), ErrorCode::invalid_utf8) << "whatever else is wrong";
}

TEST(JsonChecker, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(why_not(R"({"a" 1})").message(), "not valid JSON at byte 5: expected ':' behind the key");
  EXPECT_EQ(why_not(R"({"a":1 "b":2})").message(), "not valid JSON at byte 7: expected ',' or '}' behind the value");
  EXPECT_EQ(why_not(R"([1 2])").message(), "not valid JSON at byte 3: expected ',' or ']' behind the value");
  EXPECT_EQ(why_not(R"({"a":tru})").message(), "not valid JSON at byte 5: expected a value");
  EXPECT_EQ(why_not(R"({"a":"b)").message(), "not valid JSON at byte 5: a string begins here and never ends");
  EXPECT_EQ(why_not("[\"a\nb\"]").message(),
            "not valid JSON at byte 3: a control character stands in a string without an escape");
  EXPECT_EQ(why_not(R"(["\q"])").message(), "not valid JSON at byte 2: a backslash begins no escape that JSON knows");
  EXPECT_EQ(why_not(R"({"a":1)").message(), "not valid JSON at byte 6: the document ends before the value is whole");
  EXPECT_EQ(why_not("{a:1}").message(), "not valid JSON at byte 1: expected a key in double quotes");
  EXPECT_EQ(why_not("  ").message(), "not valid JSON at byte 0: there is no JSON here, only blanks");
}

TEST(JsonChecker, C10_C12_HintsAtWhatWasMeant) {
  const auto hint = [](std::string_view document) {
    const std::string message = why_not(document).message();
    const std::size_t at = message.find("; ");
    return at == std::string::npos ? std::string() : message.substr(at + 2);
  };
  EXPECT_THAT(hint(R"({"n":1}{"n":2})"), testing::HasSubstr("side by side without a newline"));
  EXPECT_THAT(hint("{\"n\":1}\n{\"n\":2}"), testing::HasSubstr("framing: lines"));
  for (const std::string_view line : {"{", "  \"n\": 1", "  \"n\": {", "  \"n\": 1,", "}", "  },", "[", "  ]"}) {
    EXPECT_THAT(hint(line), testing::HasSubstr("printed over several lines")) << line;
  }
  EXPECT_THAT(hint("["), testing::HasSubstr("format: json_array"));
  EXPECT_THAT(hint("\xEF\xBB\xBF{}"), testing::HasSubstr("byte order mark"));
  EXPECT_THAT(hint("\x1F\x8B\x08"), testing::HasSubstr("gzip"));
  EXPECT_THAT(hint("\x28\xB5\x2F\xFD"), testing::HasSubstr("zstd"));
  EXPECT_THAT(hint("\xFF\xFE{\0"), testing::HasSubstr("UTF-16"));
  EXPECT_THAT(hint("{'a':1}"), testing::HasSubstr("double quotes"));
  EXPECT_THAT(hint(R"({"a":NaN})"), testing::HasSubstr("NaN"));
  EXPECT_THAT(hint(R"({"a":None})"), testing::HasSubstr("Python"));
  EXPECT_THAT(hint(R"({"a":1,})"), testing::HasSubstr("no comma"));
  EXPECT_THAT(hint("# x"), testing::HasSubstr("comments"));
  EXPECT_EQ(hint(R"({"a":1 "b":2})"), "");
}

TEST(JsonChecker, RepeatedKeysAreFoundAtAnyDepthByWhatTheySay) {
  JsonChecker checker;
  decode::Json json;
  checker.reject_duplicate_keys(true);
  const auto repeated_at = [&](std::string_view document) {
    if (checker.check(document, 0, json)) return std::string();
    EXPECT_EQ(checker.error().code(), ErrorCode::duplicate_key) << checker.error().message();
    return checker.error().message();
  };
  EXPECT_EQ(repeated_at(R"({"a":1,"b":2,"a":3})"), "an object has the key that begins here twice (byte 13)");
  EXPECT_EQ(repeated_at(R"({"a":1,"\u0061":3})"), "an object has the key that begins here twice (byte 7)");
  EXPECT_EQ(repeated_at(R"([{"x":{"k":1,"k":2}}])"), "an object has the key that begins here twice (byte 13)");
  EXPECT_EQ(repeated_at(R"({"a":{"a":1},"b":{"a":1},"c":[{"a":1},{"a":2}]})"), "");
  EXPECT_EQ(repeated_at(R"({"":1,"":2})"), "an object has the key that begins here twice (byte 6)");
  std::string wide = "{";
  for (int i = 0; i < 50'000; ++i) wide += "\"k" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  EXPECT_EQ(repeated_at(wide + "\"z\":0}"), "");
  EXPECT_EQ(repeated_at(wide + "\"k777\":0}"),
            "an object has the key that begins here twice (byte " + std::to_string(wide.size()) + ")");
}

TEST(JsonChecker, MalformedInputIsNotCalledARepeatedKey) {
  JsonChecker checker;
  decode::Json json;
  checker.reject_duplicate_keys(true);
  EXPECT_FALSE(checker.check(R"({"a":1,"a":2)", 0, json));
  EXPECT_EQ(checker.error().code(), ErrorCode::malformed);
}

TEST(JsonChecker, GivesTheElementsOfAnArrayAsTheyCame) {
  JsonChecker checker;
  std::vector<decode::Json> elements;
  const auto views = [&](std::string_view document) {
    EXPECT_TRUE(checker.check_array(document, 0, elements)) << document;
    std::vector<std::string> out;
    for (const decode::Json& element : elements) out.emplace_back(element.view);
    return out;
  };
  EXPECT_EQ(views("[]"), (std::vector<std::string>{}));
  EXPECT_EQ(views(" [ ] "), (std::vector<std::string>{}));
  EXPECT_EQ(views(R"([1, "a,b" ,{"x":[1]}, [2,3] ,null ])"),
            (std::vector<std::string>{"1", R"("a,b")", R"({"x":[1]})", "[2,3]", "null"}));
  EXPECT_FALSE(checker.check_array(R"([1,tru])", 0, elements));
  EXPECT_EQ(checker.error().code(), ErrorCode::malformed);
  EXPECT_FALSE(checker.check_array(R"({"a":[1]})", 0, elements));
  EXPECT_EQ(checker.error().code(), ErrorCode::wrong_type);
}

TEST(JsonChecker, KeepsWorkingAfterEachKindOfFaultAndOverAllSizes) {
  JsonChecker checker;
  decode::Json json;
  for (std::size_t size = 0; size < 300'000; size = size * 2 + 1) {
    EXPECT_TRUE(checker.check("\"" + std::string(size, 'x') + "\"", 0, json)) << size;
    EXPECT_FALSE(checker.check("\"" + std::string(size, 'x'), 0, json)) << size;
    EXPECT_FALSE(checker.check("", 0, json));
  }
}

// Bytes that make JSON, in any order, so that sound and nearly sound documents both come up.
rc::Gen<std::string> almost_json() {
  const auto piece = rc::gen::elementOf(std::vector<std::string>{"{",
                                                                 "}",
                                                                 "[",
                                                                 "]",
                                                                 ":",
                                                                 ",",
                                                                 "\"",
                                                                 "\\",
                                                                 " ",
                                                                 "\n",
                                                                 "0",
                                                                 "1",
                                                                 "-",
                                                                 ".",
                                                                 "e",
                                                                 "+",
                                                                 "true",
                                                                 "false",
                                                                 "null",
                                                                 "a",
                                                                 "\"a\"",
                                                                 "\"a\":",
                                                                 "\\u0061",
                                                                 "\\ud83d\\ude00",
                                                                 "\\n",
                                                                 "\xC3\xA9",
                                                                 "\xE2\x82\xAC",
                                                                 "\xF0\x9F\x98\x80",
                                                                 "\xFF",
                                                                 "12.5e-3",
                                                                 "{}",
                                                                 "[]",
                                                                 "\"b\":1",
                                                                 "{\"a\":1}"});
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece), [](const std::vector<std::string>& pieces) {
    std::string all;
    for (const std::string& one : pieces) all += one;
    return all;
  });
}

rc::Gen<std::string> sound_json(int depth) {
  std::vector<std::string> scalars{"0", "-1.5e3", "true", "null", "\"\"", "\"x\\n\"", "\"\xC3\xA9\""};
  if (depth == 0) return rc::gen::elementOf(scalars);
  const auto items = rc::gen::resize(
      4, rc::gen::container<std::vector<std::string>>(rc::gen::lazy([depth] { return sound_json(depth - 1); })));
  return rc::gen::join(rc::gen::map(rc::gen::inRange(0, 3), [=](int kind) {
    if (kind == 0) return rc::gen::elementOf(scalars);
    return rc::gen::map(items, [kind](const std::vector<std::string>& values) {
      std::string out = kind == 1 ? "[" : "{";
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (i != 0) out += " , ";
        if (kind == 2) out += "\"k" + std::to_string(i % 3) + "\": ";
        out += values[i];
      }
      return out + (kind == 1 ? "]" : "}");
    });
  }));
}

RC_GTEST_PROP(JsonCheckerProperty, AgreesWithASecondOpinion, ()) {
  const std::string document = *almost_json();
  RC_ASSERT(accepts(document) == StrictJson(document).is_document());
}

RC_GTEST_PROP(JsonCheckerProperty, AgreesOnSoundDocumentsAndOnesWithOneByteChanged, ()) {
  std::string document = *sound_json(3);
  StrictJson strict(document);
  RC_ASSERT(strict.is_document());
  RC_ASSERT(accepts(document));
  JsonChecker checker;
  decode::Json json;
  checker.reject_duplicate_keys(true);
  RC_ASSERT(checker.check(document, 0, json) == !strict.repeated_key);
  document[*rc::gen::inRange<std::size_t>(0, document.size())] = *rc::gen::arbitrary<char>();
  RC_ASSERT(accepts(document) == StrictJson(document).is_document());
}

}  // namespace
}  // namespace millrace
