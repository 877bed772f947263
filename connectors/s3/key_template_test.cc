// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/key_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "millrace/encode/record_router.h"

namespace millrace::s3_sink {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// `date -u -d 2026-03-16T14:05:09Z +%s`, in microseconds.
constexpr UnixMicros kMarch = 1'773'669'909'000'000;

KeyTemplate made(std::string pattern, NameEncoding names = NameEncoding::replace, std::string prefix = "",
                 std::string extension = "jsonl") {
  auto parsed = KeyTemplate::parse({std::move(prefix), std::move(pattern), std::move(extension), names});
  EXPECT_TRUE(parsed) << parsed.error().message();
  return *std::move(parsed);
}

std::string why_not(std::string pattern) {
  auto parsed = KeyTemplate::parse({"", std::move(pattern), "jsonl", NameEncoding::replace});
  return parsed ? "accepted" : parsed.error().message();
}

Origin origin(std::string stream, std::string topic, std::string object = "") {
  Origin o;
  o.stream = std::move(stream);
  o.topic = std::move(topic);
  o.object = std::move(object);
  return o;
}

std::string key(const KeyTemplate& t, const Origin& o, std::uint32_t partition = 0, std::int64_t first = 0,
                std::int64_t last = 999, UnixMicros time = kMarch) {
  const auto rendered = t.render({&o, "pipe", PartitionId(partition), Offset(first), Offset(last), time});
  return rendered ? *rendered : rendered.error().message();
}

// The seed's own example.
TEST(KeyTemplate, TheSeedsExample) {
  const Origin o = origin("application_logs", "api_requests");
  EXPECT_EQ(key(made("{stream}/{topic}/{date}/{hour}"), o),
            "application_logs/api_requests/2026-03-16/14/00000-00000000000000000000-00000000000000000999.jsonl");
  EXPECT_EQ(key(made("{stream}/{topic}/{date}/{hour}", NameEncoding::replace, "iggy/raw"), o),
            "iggy/raw/application_logs/api_requests/2026-03-16/14/"
            "00000-00000000000000000000-00000000000000000999.jsonl");
}

// A source of several topics gives its partitions ids of their own; only with the topic's name the number is enough.
TEST(KeyTemplate, APartitionIsCountedAsItsTopicCountsWhereTheTopicIsNamed) {
  Origin o = origin("s", "second");
  o.partition = PartitionId(2);
  EXPECT_EQ(key(made("{topic}/{partition}"), o, 100'002),
            "second/2/00002-00000000000000000000-00000000000000000999.jsonl");
  o.object = "one";
  EXPECT_EQ(key(made("{object}/{partition}"), o, 100'002),
            "one/100002/100002-00000000000000000000-00000000000000000999.jsonl");
}

TEST(KeyTemplate, EveryVariable) {
  const Origin o = origin("s", "t", "in/2026/a.b.ndjson.gz");
  const KeyTemplate t = made(
      "{stream}+{topic}+{partition}/{year}={month}={day}={hour}={minute}/{date}/{timestamp}/"
      "{start_offset}..{end_offset}",
      NameEncoding::replace, "", "bin");
  EXPECT_EQ(key(t, o, 7, 10, 20),
            "s+t+7/2026=03=16=14=05/2026-03-16/1773669909000/10..20/"
            "00007-00000000000000000010-00000000000000000020.bin");
  const KeyTemplate objects = made("{object}/x{object.dir}/{object.name}/{object.stem}");
  EXPECT_EQ(key(objects, o, 1, 2, 3),
            "in/2026/a.b.ndjson.gz/xin/2026/a.b.ndjson.gz/a/00001-00000000000000000002-00000000000000000003.jsonl");
  EXPECT_TRUE(objects.pattern().per_object());
  EXPECT_FALSE(t.pattern().per_object());
}

// Files whose names begin with a dot are never listed again.
TEST(KeyTemplate, NoValueHidesAFile) {
  const auto at_file = [](NameEncoding names, const std::string& pattern) {
    return *KeyTemplate::parse({"p", pattern, "jsonl", names, /*hides_dots=*/true});
  };
  const Origin o = origin(".s", "t", ".a/b/.hid.ndjson");
  EXPECT_THAT(key(at_file(NameEncoding::replace, "{stream}/{topic}/{object}"), o),
              testing::StartsWith("p/_s/t/_a/b/_hid.ndjson/"));
  EXPECT_THAT(key(at_file(NameEncoding::percent, "{stream}/{topic}/{object}"), o),
              testing::StartsWith("p/%2Es/t/%2Ea/b/%2Ehid.ndjson/"));
  EXPECT_THAT(key(made("{stream}/{topic}/{object}"), o), testing::StartsWith(".s/t/.a/b/.hid.ndjson/"));
}

// The largest offset there is still has its place, and sorts as text.
TEST(KeyTemplate, TheLargestNumbersFit) {
  EXPECT_EQ(key(made("{topic}"), origin("s", "t"), 4'294'967'295U, INT64_MAX - 1, INT64_MAX),
            "t/4294967295-09223372036854775806-09223372036854775807.jsonl");
}

TEST(KeyTemplate, L01_TimesAreUtcAndOfTheFirstRecord) {
  const Origin o = origin("s", "t");
  const KeyTemplate t = made("{topic}/{date}/{hour}");
  // date -u -d 2024-12-30T23:30:00Z +%s; date -u -d 2027-01-01T00:30:00Z +%s
  EXPECT_THAT(key(t, o, 0, 0, 0, 1'735'601'400'000'000), HasSubstr("t/2024-12-30/23/"));
  EXPECT_THAT(key(t, o, 0, 0, 0, 1'798'763'400'000'000), HasSubstr("t/2027-01-01/00/"));
  EXPECT_THAT(key(t, o, 0, 0, 0, 0), HasSubstr("t/1970-01-01/00/"));
  EXPECT_THAT(key(t, o, 0, 0, 0, -1), HasSubstr("t/1969-12-31/23/"));
  EXPECT_THAT(key(made("{topic}/{timestamp}"), o, 0, 0, 0, -1), HasSubstr("t/-1/"));
  EXPECT_THAT(key(t, o, 0, 5, 6, INT64_MAX), AllOf(HasSubstr("offset 5"), HasSubstr("years 0 to 9999")));
}

TEST(KeyTemplate, NamesAreReplacedCharacterByCharacter) {
  const KeyTemplate t = made("{stream}/{topic}");
  EXPECT_THAT(key(t, origin("a/b c", "x.y_z-1")), HasSubstr("a_b_c/x.y_z-1/"));
  EXPECT_THAT(key(t, origin("\xC3\xA9t\xC3\xA9", "\xE6\x97\xA5")), HasSubstr("_t_/_/"));
  EXPECT_THAT(key(t, origin("..", ".")), HasSubstr("__/_/"));
  EXPECT_THAT(key(t, origin("", "")), HasSubstr("_/_/"));
}

TEST(KeyTemplate, NamesAreEncodedReversibly) {
  const KeyTemplate t = made("{stream}/{topic}", NameEncoding::percent);
  EXPECT_THAT(key(t, origin("a/b c", "100%")), HasSubstr("a%2Fb%20c/100%25/"));
  EXPECT_THAT(key(t, origin("\xC3\xA9", "a_b")), HasSubstr("%C3%A9/a_b/"));
  EXPECT_THAT(key(t, origin("..", ".")), HasSubstr("%2E%2E/%2E/"));
}

// No value leads out of the prefix, however the template puts it together.
TEST(KeyTemplate, NoValueLeadsElsewhere) {
  EXPECT_THAT(key(made("{stream}{topic}", NameEncoding::replace, "p"), origin(".", ".")), HasSubstr("p/__/"));
  EXPECT_THAT(key(made("{object}", NameEncoding::replace, "p"), origin("s", "t", "../../etc/./x")),
              HasSubstr("p/__/__/etc/_/x/"));
  EXPECT_THAT(key(made("{object}"), origin("s", "t", "in//a")), HasSubstr("in/_/a/"));
  EXPECT_THAT(key(made("{object}"), origin("s", "t", "/a/")), HasSubstr("_/a/_/"));
}

TEST(KeyTemplate, RecordsWithoutAnOrigin) {
  const KeyTemplate t = made("{stream}/{topic}");
  EXPECT_EQ(*t.render({nullptr, "my pipe", PartitionId(1), Offset(2), Offset(3), 0}),
            "my_pipe/source/00001-00000000000000000002-00000000000000000003.jsonl");
  EXPECT_THAT(made("{object}").render({nullptr, "p", PartitionId(1), Offset(2), Offset(3), 0}).error().message(),
              HasSubstr("reads no objects"));
}

// A13: counted in bytes, before anything is sent, and not tried again.
TEST(KeyTemplate, A13_ALongKeyIsFatal) {
  std::string euros;
  for (int i = 0; i < 400; ++i) euros += "\xE2\x82\xAC";
  const KeyTemplate replaced = made("{stream}/{topic}");
  const KeyTemplate percent = made("{stream}/{topic}", NameEncoding::percent);
  const Origin o = origin(euros, "t");
  EXPECT_EQ(key(replaced, o).size(), 400 + 2 + 54U);
  const auto rendered = percent.render({&o, "p", PartitionId(0), Offset(0), Offset(0), 0});
  ASSERT_FALSE(rendered);
  EXPECT_EQ(rendered.error().code(), ErrorCode::limit);
  EXPECT_TRUE(rendered.error().is_fatal());
  EXPECT_THAT(rendered.error().message(), AllOf(HasSubstr("3656 bytes"), HasSubstr("1024")));
  // Exactly at the limit, and one more: 54 bytes are the file's name and "t/" comes before it.
  const KeyTemplate t = made("{topic}");
  EXPECT_EQ(key(t, origin("", std::string(1024 - 54, 't'))).size(), 1024U);
  EXPECT_THAT(key(t, origin("", std::string(1024 - 53, 't'))), HasSubstr("1025 bytes"));
}

TEST(KeyTemplate, L04_TyposAreRefusedWithTheirPosition) {
  EXPECT_THAT(why_not("{strem}/{topic}"), AllOf(HasSubstr("at character 1: unknown placeholder {strem}"),
                                                HasSubstr("did you mean {stream}?"), HasSubstr("{object.stem}")));
  EXPECT_THAT(why_not("{topic}/{date"), HasSubstr("at character 9: a '{'"));
  EXPECT_THAT(why_not("{topic}/{{date}}"),
              AllOf(HasSubstr("at character 9: a '{'"), HasSubstr("at character 16: a '}'")));
  EXPECT_THAT(why_not("{topic}/{hour:99}"), HasSubstr("at character 9: unknown placeholder {hour:99}"));
  EXPECT_THAT(why_not("{topic}/{}"), HasSubstr("at character 9: unknown placeholder {}"));
  EXPECT_THAT(why_not("{topic}/{Date}"), HasSubstr("unknown placeholder {Date}"));
  EXPECT_THAT(why_not("{topic}/{yyyy}/{MM}"), AllOf(HasSubstr("{yyyy}"), HasSubstr("{MM}")));
  EXPECT_THAT(why_not("{topic}/{feild.user.id}"), HasSubstr("did you mean {field.user.id}?"));
  EXPECT_THAT(why_not("{topic}/{field}"), HasSubstr("did you mean {field.NAME}?"));
  EXPECT_THAT(why_not("{topic}/{header}"), HasSubstr("did you mean {header.NAME}?"));
  EXPECT_THAT(why_not("{topic}/{uid}"), HasSubstr("did you mean {uuid}?"));
  EXPECT_THAT(why_not("{topic}/{field.}"), HasSubstr("at character 9: {field.} names nothing"));
  EXPECT_THAT(why_not("{topic}/{header.}"), HasSubstr("names nothing"));
  for (const char* empty_name : {"{field..a}", "{field.a..b}", "{field.a.}"}) {
    EXPECT_THAT(why_not(std::string("{topic}/") + empty_name), HasSubstr("has an empty name in it")) << empty_name;
  }
  EXPECT_THAT(why_not("{topic}/{field.a\"b}"), HasSubstr("holds a quote"));
}

TEST(KeyTemplate, PathsThatLeadElsewhereAreRefused) {
  EXPECT_THAT(why_not("../{topic}"), HasSubstr("at character 1: the segment '..'"));
  EXPECT_THAT(why_not("{topic}/./x"), HasSubstr("at character 9: the segment '.'"));
  EXPECT_THAT(why_not("/{topic}"), HasSubstr("at character 1: an empty segment"));
  EXPECT_THAT(why_not("{topic}/"), HasSubstr("at character 9: an empty segment"));
  EXPECT_THAT(why_not("a//{topic}"), HasSubstr("at character 3: an empty segment"));
  EXPECT_THAT(why_not(""), HasSubstr("is empty"));
  EXPECT_THAT(why_not("a\tb/{topic}"), HasSubstr("control character"));
  EXPECT_EQ(why_not("dt={date}/raw data/{topic}"), "accepted");
}

// K12: a template that only tells times apart would let two sources, or two backfills, share a key.
TEST(KeyTemplate, K12_ATemplateThatTellsSourcesNotApart) {
  for (const char* pattern : {"{date}/{hour}", "x", "{stream}", "{timestamp}", "{object.name}/{start_offset}"}) {
    EXPECT_THAT(why_not(pattern), HasSubstr("two sources could write one key")) << pattern;
  }
  EXPECT_EQ(why_not("{topic}"), "accepted");
  EXPECT_EQ(why_not("{object}"), "accepted");
  EXPECT_THAT(why_not("{field.a}/{key}"), HasSubstr("two sources could write one key"));
  EXPECT_EQ(why_not("{date}/{uuid}"), "accepted");
}

TEST(KeyTemplate, TheFrontIsWhatEveryKeyBeginsWith) {
  EXPECT_EQ(made("raw/v1-{topic}", NameEncoding::replace, "out").front(), "out/raw/v1-");
  EXPECT_EQ(made("{topic}").front(), "");
  EXPECT_EQ(made("{topic}", NameEncoding::replace, "out").front(), "out/");
}

TEST(KeyTemplate, RoutesStandWhereTheirVariablesDo) {
  const KeyTemplate t = made("{topic}/t={field.type}/{key}/{field.type}-{hour}/{header.a b}");
  ASSERT_EQ(t.route().parts.size(), 3U) << "a variable that stands twice is one value";
  const Origin o = origin("s", "t");
  EXPECT_EQ(*t.render({&o, "p", PartitionId(0), Offset(1), Offset(2), kMarch, "click/k%201/eu"}),
            "t/t=click/k%201/click-14/eu/00000-00000000000000000001-00000000000000000002.jsonl");
  const auto without = t.render({&o, "p", PartitionId(0), Offset(1), Offset(2), kMarch});
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code(), ErrorCode::rule_broken);
  EXPECT_EQ(*made("{uuid}/x").render({&o, "p", PartitionId(0), Offset(1), Offset(2), 0, "", "u-u"}),
            "u-u/x/00000-00000000000000000001-00000000000000000002.jsonl");
}

// Two values of one segment, with nothing between them that no value holds, could change places.
TEST(KeyTemplate, L04_ValuesThatRunTogetherAreRefused) {
  EXPECT_THAT(why_not("{topic}/{field.a}-{field.b}"),
              AllOf(HasSubstr("at character 9: {field.a} and {field.b} stand in one segment"), HasSubstr("put '/'")));
  EXPECT_THAT(why_not("{topic}{key}"), HasSubstr("at character 8: {key} and {topic} stand in one segment"));
  EXPECT_THAT(why_not("{object}.{header.h}"), HasSubstr("stand in one segment"));
  for (const char* apart : {"{topic}/{field.a}/{field.b}", "{topic}={field.a}", "{field.a}{date}{hour}-x/{topic}",
                            "{partition}{key}/{topic}", "{topic}/{key}{key}", "{uuid}{key}", "{stream}{topic}"}) {
    EXPECT_EQ(why_not(apart), "accepted") << apart;
  }
}

/// What a template makes of a record with the field `a`: its route, or why there is none.
std::string routed(const KeyTemplate& t, const std::string& value) {
  RecordRouter router(t.route());
  const std::string document = "{\"a\":\"" + value + "\"}";
  const auto route = router.route(decode::Bytes{document}, {});
  return route ? std::string(*route) : route.error().message();
}

// A folder's name has at most 255 bytes, of which "region=" takes 7.
TEST(KeyTemplate, NoValueMakesAFoldersNameTooLong) {
  const auto at_file = [](NameEncoding names, const std::string& pattern) {
    return KeyTemplate::parse({"p", pattern, "jsonl", names, /*hides_dots=*/true});
  };
  const KeyTemplate t = *at_file(NameEncoding::replace, "{topic}/region={field.a}");
  EXPECT_EQ(t.route().max_value, 248U);
  EXPECT_EQ(routed(t, std::string(248, 'x')), std::string(248, 'x'));
  EXPECT_EQ(routed(t, std::string(249, 'x')), "__HIVE_DEFAULT_PARTITION__");
  EXPECT_EQ(at_file(NameEncoding::replace, "{topic}/a={field.a}+{field.b}")->route().max_value, 126U);
  // A dot in front becomes three characters.
  const KeyTemplate dots = *at_file(NameEncoding::percent, "{topic}/{field.a}");
  EXPECT_EQ(routed(dots, "." + std::string(252, 'x')), "%2E" + std::string(252, 'x'));
  EXPECT_EQ(routed(dots, "." + std::string(253, 'x')), "__HIVE_DEFAULT_PARTITION__");
  const auto none = at_file(NameEncoding::replace, "{topic}/" + std::string(240, 'x') + "{field.a}");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::config);
  EXPECT_THAT(none.error().message(), AllOf(HasSubstr("leaves 15 bytes"), HasSubstr("at most 255")));
  EXPECT_EQ(made("{topic}/" + std::string(240, 'x') + "{field.a}").route().max_value, 255U) << "a key is no folder";
}

// 1024 less a prefix of 600 and its slash, two slashes, 64 for the topic and 81 for the file's name, for two values.
TEST(KeyTemplate, NoValueMakesAKeyTooLong) {
  const auto below = [](std::size_t prefix) {
    return KeyTemplate::parse({.prefix = std::string(prefix, 'p'),
                               .pattern = "{topic}/{field.a}/{field.b}",
                               .extension = "jsonl",
                               .null_fallback = "none"});
  };
  const KeyTemplate t = *below(600);
  EXPECT_EQ(t.route().max_value, 138U);
  const Origin o = origin("s", std::string(64, 't'));
  const std::string value(138, 'x');
  const std::string route = value + "/" + value;
  EXPECT_TRUE(t.render(
      {&o, "p", PartitionId(UINT32_MAX), Offset(INT64_MAX), Offset(INT64_MAX), kMarch, route, "", "0123456789abcdef"}));
  EXPECT_EQ(routed(t, std::string(139, 'x')), "none/none");
  EXPECT_EQ(below(844)->route().max_value, 16U);
  const auto none = below(845);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), AllOf(HasSubstr("leaves 15 bytes"), HasSubstr("at most 1024"), HasSubstr("16")));
  EXPECT_THAT(below(1000).error().message(), HasSubstr("leaves 0 bytes"));
}

// Whatever names and times come, two different (partition, first, last) never share a key, so what sanitising makes
// equal still lies side by side.
RC_GTEST_PROP(KeyTemplateProperty, RangesNeverShareAKey,
              (std::string stream1, std::string topic1, std::string stream2, std::string topic2)) {
  const auto pattern = *rc::gen::element<std::string>("{topic}", "{stream}/{topic}/{date}/{hour}", "{partition}{topic}",
                                                      "{topic}{start_offset}{end_offset}");
  const auto names = *rc::gen::element(NameEncoding::replace, NameEncoding::percent);
  const auto small = rc::gen::inRange<std::int64_t>(0, 200);
  const KeyTemplate t = made(pattern, names);
  const auto one = std::tuple(*rc::gen::arbitrary<std::uint32_t>(), *small, *small);
  const auto two =
      std::tuple(*rc::gen::element(std::get<0>(one), std::get<0>(one) / 10, std::get<0>(one) + 1), *small, *small);
  RC_PRE(one != two);
  const Origin o1 = origin(stream1.substr(0, 50), topic1.substr(0, 50));
  const Origin o2 = origin(stream2.substr(0, 50), topic2.substr(0, 50));
  const auto make = [&](const Origin& o, const auto& range) {
    return key(t, o, std::get<0>(range), std::get<1>(range), std::get<2>(range));
  };
  RC_ASSERT(make(o1, one) != make(o2, two));
  RC_ASSERT(make(o1, one) != make(o1, two));
  RC_ASSERT(make(o1, one) == make(o1, one));
}

// Routes too: under `percent` two different (partition, route, first, last) never share a key, and none leads out of
// the prefix. Routes are made as the engine makes them, from any values.
RC_GTEST_PROP(KeyTemplateProperty, L03_RoutesNeverShareAKeyAndStayBelowThePrefix, ()) {
  const auto pattern =
      *rc::gen::element<std::string>("{topic}/{key}/{header.h}", "{topic}/a={key}+{header.h}",
                                     "{key}.{date}/{topic}/{header.h}", "{header.h}{hour}/{uuid}/x{key}.");
  const bool hides_dots = *rc::gen::arbitrary<bool>();
  const auto parsed = KeyTemplate::parse({"p", pattern, "jsonl", NameEncoding::percent, hides_dots});
  RC_ASSERT(parsed.has_value());
  // Short ones of few characters meet often.
  const auto value = rc::gen::container<std::string>(rc::gen::element('.', '/', 'a', '%', '\0', '_', '=', '2', 'E'));
  RecordRouter router(parsed->route());
  const auto made_of = [&](const std::string& key, const std::string& header) {
    RecordMeta meta;
    meta.key = key;
    const Header one{"h", header};
    meta.headers = &one;
    meta.header_count = 1;
    return std::string(*router.route(decode::Bytes{}, meta));
  };
  const auto one = made_of((*value).substr(0, 4), (*value).substr(0, 4));
  const auto other = made_of((*value).substr(0, 4), (*value).substr(0, 4));
  const Origin o = origin("s", "t");
  const auto render = [&](const std::string& route, std::int64_t first) {
    return *parsed->render({&o, "p", PartitionId(1), Offset(first), Offset(first), kMarch, route, "u"});
  };
  RC_ASSERT((render(one, 0) == render(other, 0)) == (one == other));
  RC_ASSERT(render(one, 0) != render(one, 1));
  const std::string rendered = render(one, 0);
  RC_ASSERT(rendered.starts_with("p/"));
  for (std::size_t begin = 0; begin <= rendered.size();) {
    const std::size_t end = std::min(rendered.find('/', begin), rendered.size());
    const std::string segment = rendered.substr(begin, end - begin);
    RC_ASSERT(!segment.empty() && segment != "." && segment != "..");
    RC_ASSERT(!hides_dots || segment.front() != '.');
    begin = end + 1;
  }
  RC_ASSERT(std::ranges::count(rendered, '/') == std::ranges::count(pattern, '/') + 2);
}

// Under `percent` even the names never meet: equal keys come from equal names.
RC_GTEST_PROP(KeyTemplateProperty, PercentNamesNeverMeet, (std::string stream, std::string topic)) {
  const KeyTemplate t = made("{stream}/{topic}", NameEncoding::percent);
  const auto clean = [](std::string name) {
    std::erase(name, '\0');
    return name.empty() ? std::string("x") : name.substr(0, 50);
  };
  const std::string s = clean(stream);
  const std::string u = clean(topic);
  const std::string rendered = key(t, origin(s, u));
  // Decoded by hand: segment by segment, %XX back to bytes.
  std::vector<std::string> segments(1);
  for (std::size_t i = 0; i < rendered.size(); ++i) {
    if (rendered[i] == '/') {
      segments.emplace_back();
    } else if (rendered[i] == '%') {
      segments.back() += static_cast<char>(std::stoi(rendered.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      segments.back() += rendered[i];
    }
  }
  RC_ASSERT(segments.size() == 3U);
  RC_ASSERT(segments[0] == s);
  RC_ASSERT(segments[1] == u);
}

}  // namespace
}  // namespace millrace::s3_sink
