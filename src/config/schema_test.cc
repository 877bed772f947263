// SPDX-License-Identifier: Apache-2.0
// Schema: every type a key may have, each way to get one wrong, and all problems told together with their places.
#include "millrace/config/schema.h"

#include <gtest/gtest.h>

#include <string>

#include "config/config_parse.h"

namespace millrace {

enum class Fruit { apple, pear };
template <>
struct EnumNames<Fruit> {
  static constexpr std::pair<std::string_view, Fruit> names[] = {
      {"apple", Fruit::apple}, {"pear", Fruit::pear}, {"malus", Fruit::apple}};
};

/// A type with a form of its own: a word, or a mapping of one key.
struct Place {
  std::string name = "home";
  std::int64_t number = 0;
};
template <>
struct OptionForm<Place> {
  static std::string type() { return "home|{number: N}"; }
  static std::string text(const Place& place) { return place.name; }
  static void read(const ConfigSection& at, Place& out, ConfigProblems& problems) {
    if (at.kind() == ConfigSection::Kind::scalar && at.text() == "home") return;
    if (at.kind() != ConfigSection::Kind::mapping) {
      problems.add(at.where(), at.path() + ": no place");
      return;
    }
    out = {"", std::stoll(at.child("number").text())};
  }
};

namespace {

using config_test::parsed;

struct Inner {
  std::string url;
  Duration timeout = std::chrono::seconds(10);
};
struct Everything {
  bool flag = false;
  std::int64_t whole = -3;
  std::uint64_t count = 4;
  int small = 7;
  double share = 0.5;
  std::string text = "abc";
  ByteSize size{8U << 20U};
  Duration wait = std::chrono::seconds(5);
  Secret secret;
  Fruit fruit = Fruit::pear;
  std::vector<std::string> list;
  std::map<std::string, std::string> map;
  std::optional<bool> maybe;
  std::optional<std::string> delimiter;
  Inner inner;
  std::optional<Inner> extra;
};

const Schema<Inner>& inner_schema() {
  static const Schema<Inner> schema = [] {
    Schema<Inner> s("inner", "A part.");
    s.required("url", &Inner::url, "Where it lies.", {.example = "s3://b/k"});
    s.optional("timeout", &Inner::timeout, "How long.", {.min = 0.1, .max = 3600});
    return s;
  }();
  return schema;
}

const Schema<Everything>& schema() {
  static const Schema<Everything> all = [] {
    Schema<Everything> s("everything", "One key of each type.");
    s.optional("flag", &Everything::flag, "A flag.");
    s.optional("whole", &Everything::whole, "A signed number.", {.min = -10, .max = 10});
    s.optional("count", &Everything::count, "A count.", {.min = 1, .max = 4096});
    s.optional("small", &Everything::small, "A 32-bit number.");
    s.optional("share", &Everything::share, "A share.", {.min = 0, .max = 1});
    s.optional("text", &Everything::text, "A text.", {.aliases = {"words"}});
    s.optional("size", &Everything::size, "A size.", {.min = 1024});
    s.optional("wait", &Everything::wait, "A time.", {.min = 0.1});
    s.optional("secret", &Everything::secret, "A secret.");
    s.optional("fruit", &Everything::fruit, "A choice.");
    s.optional("list", &Everything::list, "A list.");
    s.optional("map", &Everything::map, "A map.");
    s.optional("maybe", &Everything::maybe, "Yes, no, or neither.");
    s.optional("delimiter", &Everything::delimiter, "Text that may be empty.");
    s.nested("inner", &Everything::inner, inner_schema(), "A section.");
    s.nested("extra", &Everything::extra, inner_schema(), "An absent section.");
    s.check([](const Everything& o, const ConfigSection& at, ConfigProblems& problems) {
      if (o.count > 100 && !o.flag) problems.add(at.section("count").where(), "root.count: above 100 only with 'flag'");
    });
    return s;
  }();
  return all;
}

Everything accepted(std::string_view yaml) {
  auto options = schema().parse(parsed("root:\n" + std::string(yaml)).section("root"));
  EXPECT_TRUE(options) << (options ? "" : options.error().message());
  return options ? *std::move(options) : Everything{};
}

std::string refused(std::string_view yaml) {
  const auto options = schema().parse(parsed("root:\n" + std::string(yaml)).section("root"));
  if (options) return "accepted";
  EXPECT_EQ(options.error().code(), ErrorCode::config);
  return options.error().message();
}

TEST(Schema, ReadsEveryType) {
  const Everything o = accepted(
      "  flag: true\n  whole: -10\n  count: 4096\n  small: -2147483648\n  share: 0.25\n  text: 12 apples\n  size: "
      "64KiB\n"
      "  wait: 1m30s\n  secret: hush\n  fruit: APPLE\n  list: [a, 'b c']\n  map: {k: v, n: 1, 'x.y': z}\n  maybe: "
      "false\n"
      "  delimiter: \"\"\n  inner: {url: s3://b/k}\n");
  EXPECT_TRUE(o.flag);
  EXPECT_EQ(o.whole, -10);
  EXPECT_EQ(o.count, 4096U);
  EXPECT_EQ(o.small, std::numeric_limits<int>::min());
  EXPECT_EQ(o.share, 0.25);
  EXPECT_EQ(o.text, "12 apples");
  EXPECT_EQ(o.size.bytes, 65536U);
  EXPECT_EQ(o.wait, Duration(std::chrono::seconds(90)));
  EXPECT_EQ(o.secret.reveal(), "hush");
  EXPECT_EQ(o.fruit, Fruit::apple);
  EXPECT_EQ(o.list, (std::vector<std::string>{"a", "b c"}));
  EXPECT_EQ(o.map, (std::map<std::string, std::string>{{"k", "v"}, {"n", "1"}, {"x.y", "z"}}));
  EXPECT_EQ(o.maybe, std::optional<bool>(false));
  EXPECT_EQ(o.delimiter, std::optional<std::string>(""));
  EXPECT_EQ(o.inner.url, "s3://b/k");
  EXPECT_EQ(o.inner.timeout, Duration(std::chrono::seconds(10)));
  EXPECT_FALSE(o.extra);
}

TEST(Schema, WhatIsNotGivenKeepsTheDefaultOfTheStruct) {
  const Everything o = accepted("  {}\n");
  const Everything made;
  EXPECT_EQ(o.whole, made.whole);
  EXPECT_EQ(o.text, made.text);
  EXPECT_EQ(o.wait, made.wait);
  EXPECT_EQ(o.fruit, made.fruit);
  EXPECT_FALSE(o.maybe);
  EXPECT_FALSE(o.delimiter);
}

TEST(Schema, AliasesAndSecondNames) {
  EXPECT_EQ(accepted("  words: x\n  fruit: Malus\n").text, "x");
  EXPECT_EQ(refused("  text: a\n  words: b\n"),
            "p.yaml:3:3: root.words: the same option as 'text', which is given too; keep one of them");
}

TEST(SchemaRefuses, UnknownKeysWithTheNearest) {
  EXPECT_EQ(refused("  cuont: 3\n"), "p.yaml:2:3: root.cuont: unknown key; did you mean 'count'?");
  EXPECT_EQ(refused("  inner: {urll: x, url: y}\n"), "p.yaml:2:11: root.inner.urll: unknown key; did you mean 'url'?");
  EXPECT_EQ(refused("  inner: {url: y, qqqqqqq: 1}\n"),
            "p.yaml:2:19: root.inner.qqqqqqq: unknown key; known keys are url, timeout");
  EXPECT_EQ(refused("  \"a\\tb\": 1\n").rfind("p.yaml:2:3: root.a\\tb: unknown key; known keys are flag", 0), 0U);
}

TEST(SchemaRefuses, ReservedNamesWithTheirReason) {
  Schema<Inner> reserving = inner_schema();
  reserving.reserve("later", "is not available yet");
  const auto read = reserving.parse(parsed("root: {url: x, later: 1, latter: 2}\n").section("root"));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message(),
            "p.yaml:1:16: root.later: is not available yet\n"
            "p.yaml:1:26: root.latter: unknown key; known keys are url, timeout");
}

TEST(SchemaRefuses, WrongTypes) {
  EXPECT_EQ(refused("  flag: yes\n"), "p.yaml:2:9: root.flag: expects true or false, found 'yes'");
  EXPECT_EQ(refused("  count: many\n"), "p.yaml:2:10: root.count: expects an integer, found 'many'");
  EXPECT_EQ(refused("  count: \"8\"\n"),
            "p.yaml:2:10: root.count: expects an integer, found the text \"8\"; write it without quotes");
  EXPECT_EQ(refused("  count: -1\n"), "p.yaml:2:10: root.count: expects an integer, found '-1'; it cannot be negative");
  EXPECT_EQ(refused("  count: 1.5\n"), "p.yaml:2:10: root.count: expects an integer, found '1.5'");
  EXPECT_EQ(refused("  count: [1]\n"), "p.yaml:2:10: root.count: expects an integer, found a list");
  EXPECT_EQ(refused("  count: ~\n"),
            "p.yaml:2:3: root.count: expects an integer, found nothing (null); leave the key out for its default");
  EXPECT_EQ(refused("  text:\n"),
            "p.yaml:2:3: root.text: expects a string, found nothing (null); write \"\" for an empty text");
  EXPECT_EQ(refused("  text: {a: b}\n"), "p.yaml:2:9: root.text: expects a string, found a section");
  EXPECT_EQ(refused("  share: half\n"), "p.yaml:2:10: root.share: expects a number, found 'half'");
  EXPECT_EQ(refused("  share: nan\n"), "p.yaml:2:10: root.share: expects a number, found 'nan'");
  EXPECT_NE(refused("  size: 8 megs\n").find("p.yaml:2:9: root.size: '8 megs' is no size;"), std::string::npos);
  EXPECT_NE(refused("  wait: 5\n").find("p.yaml:2:9: root.wait: '5' is no duration;"), std::string::npos);
  EXPECT_EQ(refused("  fruit: aple\n"),
            "p.yaml:2:10: root.fruit: expects one of apple|pear, found 'aple'; did you mean 'apple'?");
  EXPECT_EQ(refused("  list: a\n"),
            "p.yaml:2:9: root.list: expects a list of strings, found 'a'; write [a, b], or lines that begin with '- '");
  EXPECT_EQ(refused("  list: [a, [b]]\n"), "p.yaml:2:13: root.list[1]: expects a string, found a list");
  EXPECT_EQ(refused("  map: [a]\n"),
            "p.yaml:2:8: root.map: expects a section of strings, found a list; write {} for none");
  EXPECT_EQ(refused("  inner: text\n"), "p.yaml:2:10: root.inner: expects a section, found a text");
  EXPECT_EQ(refused("  inner:\n"),
            "p.yaml:2:3: root.inner: expects a section, found nothing (null); write {} for one with all defaults");
}

TEST(SchemaRefuses, ValuesOutOfRange) {
  EXPECT_EQ(refused("  count: 0\n"), "p.yaml:2:10: root.count: 0 is out of range; 1 to 4096 is allowed");
  EXPECT_EQ(refused("  whole: 11\n"), "p.yaml:2:10: root.whole: 11 is out of range; -10 to 10 is allowed");
  EXPECT_EQ(refused("  small: 2147483648\n"),
            "p.yaml:2:10: root.small: 2147483648 is out of range; -2147483648 to 2147483647 is allowed");
  EXPECT_EQ(refused("  share: 1.01\n"), "p.yaml:2:10: root.share: 1.01 is out of range; 0 to 1 is allowed");
  EXPECT_EQ(refused("  size: 1kB\n"), "p.yaml:2:9: root.size: 1kB is out of range; at least 1KiB is allowed");
  EXPECT_EQ(refused("  wait: 99ms\n"), "p.yaml:2:9: root.wait: 99ms is out of range; at least 100ms is allowed");
  EXPECT_EQ(refused("  count: 99999999999999999999\n"),
            "p.yaml:2:10: root.count: 99999999999999999999 is out of range; 1 to 4096");
  EXPECT_NE(refused("  size: 99999999TiB\n").find("more than can be counted"), std::string::npos);
}

TEST(SchemaRefuses, WhatIsMissing) {
  EXPECT_EQ(refused("  inner: {timeout: 1s}\n"),
            "p.yaml:2:3: root.inner.url: is required: Where it lies. Example: s3://b/k");
  const auto section = parsed("a: 1\n").section("source.s3");
  EXPECT_EQ(schema().parse(section).error().message(), "p.yaml:1:1: source.s3: missing section");
}

TEST(SchemaRefuses, EverythingAtOnceInOneMessage) {
  EXPECT_EQ(
      refused("  flag: 1\n  nope: 2\n  count: x\n  inner: {}\n"),
      "p.yaml:3:3: root.nope: unknown key; known keys are flag, whole, count, small, share, text, words, size, wait, "
      "secret, fruit, list, map, maybe, delimiter, inner, extra\n"
      "p.yaml:2:9: root.flag: expects true or false, found '1'\n"
      "p.yaml:4:10: root.count: expects an integer, found 'x'\n"
      "p.yaml:5:3: root.inner.url: is required: Where it lies. Example: s3://b/k");
}

TEST(SchemaRefuses, RulesOverTheWholeStructAfterTheKeys) {
  EXPECT_EQ(refused("  count: 101\n"), "p.yaml:2:10: root.count: above 100 only with 'flag'");
  EXPECT_EQ(accepted("  count: 101\n  flag: true\n").count, 101U);
}

TEST(SchemaRefuses, SecretsAndMapValuesWithoutShowingThem) {
  for (const char* yaml :
       {"  secret: [hunter2]\n", "  map: {key: [hunter2]}\n", "  map: {key: {hunter2: hunter2}}\n"}) {
    const std::string message = refused(yaml);
    EXPECT_NE(message, "accepted");
    EXPECT_EQ(message.find("hunter2"), std::string::npos) << message;
  }
}

TEST(SchemaForm, AKeyOfATypeOfItsOwnIsReadByIt) {
  struct Trip {
    Place to;
  };
  Schema<Trip> trip("trip", "One key.");
  trip.optional("to", &Trip::to, "Where.");
  EXPECT_EQ(trip.description().options[0].type, "home|{number: N}");
  EXPECT_EQ(trip.description().options[0].default_text, "home");
  EXPECT_EQ(trip.parse(parsed("to: {number: 5}\n").root())->to.number, 5);
  EXPECT_EQ(trip.parse(parsed("to: home\n").root())->to.name, "home");
  const auto wrong = trip.parse(parsed("to: [1]\n").root());
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message().find("to: no place"), std::string::npos) << wrong.error().message();
}

}  // namespace
}  // namespace millrace
