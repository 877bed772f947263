// SPDX-License-Identifier: Apache-2.0
// The bytes of each format, worked out by hand from s3-sink's wrapper and RFC 8259.
#include "millrace/encode/formats.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace shop {

struct Item {
  std::string name;
  std::uint8_t count = 0;
};
MILLRACE_JSON_FIELDS(Item, name, count);

struct Order {
  std::int64_t id = 0;
  std::optional<std::string> note;
  std::vector<Item> items;
  std::vector<std::optional<bool>> flags;
  double amount = 0;
  millrace::decode::Json any{"null", false};
};
MILLRACE_JSON_FIELDS(Order, id, note, items, flags, amount, any);

struct Cents {
  std::int64_t count = 0;
};
bool write_json(millrace::JsonWriter& writer, const Cents& value) {
  return writer.write(static_cast<double>(value.count) / 100);
}

}  // namespace shop

namespace millrace::encode {
namespace {

using decode::Bytes;
using decode::Json;
using decode::Text;

constexpr UnixMicros kNoon = 1'782'907'200'123'456;  // 2026-07-01T12:00:00.123456Z, by date -u -d

struct Meta {
  Origin origin;
  std::vector<Header> headers;
  RecordMeta meta;
  Meta() {
    origin.stream = "application_logs";
    origin.topic = "api";
    meta.partition = PartitionId(3);
    meta.offset = Offset(41);
    meta.timestamp = kNoon;
    meta.origin = &origin;
  }
  const RecordMeta& operator()() {
    meta.headers = headers.data();
    meta.header_count = headers.size();
    return meta;
  }
};

EncodeSpec wrapped() {
  EncodeSpec spec;
  spec.wrap = true;
  return spec;
}

template <class Format, class T>
std::string bytes_of(Format&& format, const T& record, const RecordMeta& meta) {
  ByteBuffer out;
  format.begin_batch(meta.origin);
  const Result<void> written = format.encode(record, meta, out);
  if (!written) return std::string(to_string(written.error().code())) + ": " + written.error().message();
  return std::string(out.view());
}

TEST(RawFormat, WritesTheBytesAndTheDelimiter) {
  EXPECT_EQ(bytes_of(RawFormat("\n"), Bytes{"a\tb"}, {}), "a\tb\n");
  EXPECT_EQ(bytes_of(RawFormat(""), Text{"a"}, {}), "a");
  EXPECT_EQ(bytes_of(RawFormat("\r\n"), Json{"{ }"}, {}), "{ }\r\n");
  EXPECT_EQ(bytes_of(RawFormat("|"), std::string("s"), {}), "s|");
  EXPECT_EQ(bytes_of(RawFormat("\n"), Bytes{""}, {}), "\n");
}

TEST(DiscardFormat, WritesNothing) { EXPECT_EQ(bytes_of(DiscardFormat(), 7, {}), ""); }

TEST(JsonLinesFormat, WritesThePayloadItselfWithoutAWrapper) {
  const EncodeSpec spec;
  EXPECT_EQ(bytes_of(JsonLinesFormat(spec), Json{R"({"b":1.0, "a":[ ],"b":2})", false}, {}),
            "{\"b\":1.0, \"a\":[ ],\"b\":2}\n")
      << "number spelling, key order, repeated keys and blanks as they came";
  EXPECT_EQ(bytes_of(JsonLinesFormat(spec), Bytes{" [1e2] "}, {}), " [1e2] \n");
  EXPECT_EQ(bytes_of(JsonLinesFormat(spec), Text{"say \"hi\"\n"}, {}), "\"say \\\"hi\\\"\\n\"\n");
  EXPECT_EQ(bytes_of(JsonLinesFormat(spec), Bytes{"plain"}, {}),
            "malformed: the record must be JSON to be written without a wrapper: not valid JSON at byte 0: expected a "
            "value");
}

TEST(JsonLinesFormat, KeepsADocumentOfSeveralLinesOnOne) {
  EXPECT_EQ(bytes_of(JsonLinesFormat({}), Json{"{\r\n  \"a\": 1\n}"}, {}), "{    \"a\": 1 }\n");
  EXPECT_EQ(bytes_of(JsonLinesFormat({}), Bytes{"[1,\n2]"}, {}), "[1, 2]\n");
  EXPECT_EQ(bytes_of(JsonArrayFormat({}), Bytes{"[1,\n2]"}, {}), "[1,\n2]") << "in an array any blank will do";
}

TEST(JsonLinesFormat, WrapsInTheOrderOfTheFields) {
  Meta meta;
  EXPECT_EQ(
      bytes_of(JsonLinesFormat(wrapped()), Json{R"({"id":1})", false}, meta()),
      R"({"offset":41,"timestamp":"2026-07-01T12:00:00Z","stream":"application_logs","topic":"api","partition_id":3,"payload":{"id":1}})"
      "\n");
  EXPECT_EQ(
      bytes_of(JsonArrayFormat(wrapped()), Text{"x"}, meta()),
      R"({"offset":41,"timestamp":"2026-07-01T12:00:00Z","stream":"application_logs","topic":"api","partition_id":3,"payload":"x"})");
  EncodeSpec bare = wrapped();
  bare.include_metadata = false;
  EXPECT_EQ(bytes_of(JsonLinesFormat(bare), Json{"[]", false}, meta()), "{\"payload\":[]}\n");
}

TEST(JsonLinesFormat, LeavesOutWhatARecordLacks) {
  EXPECT_EQ(bytes_of(JsonLinesFormat(wrapped()), Json{"0", false}, {}),
            "{\"offset\":0,\"partition_id\":0,\"payload\":0}\n");
  Meta meta;
  meta.meta.timestamp = std::numeric_limits<UnixMicros>::max();
  EXPECT_EQ(bytes_of(JsonLinesFormat(wrapped()), Json{"0", false}, meta()),
            R"({"offset":41,"stream":"application_logs","topic":"api","partition_id":3,"payload":0})"
            "\n")
      << "a time that RFC 3339 cannot say is left out rather than made up";
}

TEST(JsonLinesFormat, BytesThatAreNotJsonBecomeBase64) {
  EncodeSpec spec = wrapped();
  spec.include_metadata = false;
  // printf 'M' | base64, 'Ma', 'Man', 'Many', and 00 ff 10.
  EXPECT_EQ(bytes_of(JsonLinesFormat(spec), Bytes{""}, {}), "{\"payload\":\"\"}\n");
  EXPECT_EQ(bytes_of(JsonLinesFormat(spec), Bytes{"M"}, {}), "{\"payload\":\"TQ==\"}\n");
  EXPECT_EQ(bytes_of(JsonLinesFormat(spec), Bytes{"Ma"}, {}), "{\"payload\":\"TWE=\"}\n");
  EXPECT_EQ(bytes_of(JsonLinesFormat(spec), Bytes{"Man"}, {}), "{\"payload\":\"TWFu\"}\n");
  EXPECT_EQ(bytes_of(JsonLinesFormat(spec), Bytes{"Many hands"}, {}), "{\"payload\":\"TWFueSBoYW5kcw==\"}\n");
  EXPECT_EQ(bytes_of(JsonLinesFormat(spec), Bytes{std::string_view("\x00\xFF\x10", 3)}, {}),
            "{\"payload\":\"AP8Q\"}\n");
  spec.mark_encoding = true;
  EXPECT_EQ(bytes_of(JsonLinesFormat(spec), Bytes{"Man"}, {}),
            "{\"payload\":\"TWFu\",\"payload_encoding\":\"base64\"}\n");
  EXPECT_EQ(bytes_of(JsonLinesFormat(spec), Bytes{"{}"}, {}), "{\"payload\":{}}\n");
}

TEST(JsonLinesFormat, WritesHeadersWhenAskedAndPresent) {
  Meta meta;
  EncodeSpec spec = wrapped();
  spec.include_headers = true;
  const std::string head =
      R"({"offset":41,"timestamp":"2026-07-01T12:00:00Z","stream":"application_logs","topic":"api","partition_id":3,)";
  EXPECT_EQ(bytes_of(JsonLinesFormat(spec), Json{"1", false}, meta()), head + "\"payload\":1}\n");
  meta.headers = {{"trace", "a\"b"}, {"raw", std::string_view("\xFF\x00", 2)}, {"", ""}};
  EXPECT_EQ(bytes_of(JsonLinesFormat(spec), Json{"1", false}, meta()),
            head + R"("headers":{"trace":"a\"b","raw":"/wA=","":""},"payload":1})" + "\n");
  spec.include_metadata = false;
  meta.headers = {{"k", "v"}};
  EXPECT_EQ(bytes_of(JsonLinesFormat(spec), Json{"1", false}, meta()), "{\"headers\":{\"k\":\"v\"},\"payload\":1}\n");
  spec.include_headers = false;
  EXPECT_EQ(bytes_of(JsonLinesFormat(spec), Json{"1", false}, meta()), "{\"payload\":1}\n");
}

TEST(JsonWrapper, WritesTimesToTheDigitsAskedFor) {
  const auto rendered = [](UnixMicros timestamp, int digits) {
    EncodeSpec spec = wrapped();
    spec.timestamp_digits = digits;
    RecordMeta meta;
    meta.timestamp = timestamp;
    const std::string all = bytes_of(JsonLinesFormat(spec), Json{"0", false}, meta);
    const std::size_t at = all.find("\"timestamp\":\"");
    return at == std::string::npos ? std::string("none") : all.substr(at + 13, all.find('"', at + 13) - at - 13);
  };
  EXPECT_EQ(rendered(kNoon, 0), "2026-07-01T12:00:00Z");
  EXPECT_EQ(rendered(kNoon, 3), "2026-07-01T12:00:00.123Z");
  EXPECT_EQ(rendered(kNoon, 6), "2026-07-01T12:00:00.123456Z");
  EXPECT_EQ(rendered(kNoon, 9), "2026-07-01T12:00:00.123456000Z");
  EXPECT_EQ(rendered(0, 0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(rendered(-1, 6), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(rendered(-1'000'000, 0), "1969-12-31T23:59:59Z");
  EXPECT_EQ(rendered(951'782'400'000'000, 0), "2000-02-29T00:00:00Z");
  EXPECT_EQ(rendered(253'402'300'799'999'999, 3), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(rendered(253'402'300'800'000'000, 0), "none");
  EXPECT_EQ(rendered(-62'167'219'200'000'000, 0), "0000-01-01T00:00:00Z");
  EXPECT_EQ(rendered(-62'167'219'200'000'001, 0), "none");
  EXPECT_EQ(rendered(kNoTimestamp, 0), "none");
}

TEST(JsonWrapper, SeesANewOriginTimeAndPartition) {
  Meta meta;
  JsonLinesFormat format(wrapped());
  const Json one{"1", false};
  EXPECT_NE(bytes_of(format, one, meta()).find(R"("stream":"application_logs","topic":"api","partition_id":3,)"),
            std::string::npos);
  meta.origin.stream = "o\"ther\n";  // the same address with other words
  meta.origin.topic = "\xFF";
  meta.meta.partition = PartitionId(4);
  meta.meta.timestamp += 1'000'000;
  meta.meta.offset = Offset(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(
      bytes_of(format, one, meta()),
      R"({"offset":9223372036854775807,"timestamp":"2026-07-01T12:00:01Z","stream":"o\"ther\n","topic":"/w==","partition_id":4,"payload":1})"
      "\n");
  meta.meta.partition = PartitionId(100'004);
  meta.origin.partition = PartitionId(4);  // as the topic counts
  EXPECT_NE(bytes_of(format, one, meta()).find(R"("partition_id":4,"payload")"), std::string::npos);
}

TEST(JsonStrings, EscapeAsLittleAsJsonAllowsAtEveryPlace) {
  const std::string_view special = "\"\\\b\f\n\r\t\x01\x1F";
  const std::vector<std::string> escaped{"\\\"", "\\\\", "\\b", "\\f", "\\n", "\\r", "\\t", "\\u0001", "\\u001f"};
  for (std::size_t before = 0; before < 40; ++before) {
    for (std::size_t i = 0; i < special.size(); ++i) {
      ByteBuffer out;
      append_json_string(out, std::string(before, 'x') + special[i] + "\x7F/\xC3\xA9");
      EXPECT_EQ(out.view(), "\"" + std::string(before, 'x') + escaped[i] + "\x7F/\xC3\xA9\"");
    }
  }
}

TEST(JsonLinesFormat, WritesListedStructs) {
  shop::Order order;
  order.id = -5;
  order.items = {{"a\"b", 255}, {"", 0}};
  order.flags = {true, std::nullopt};
  order.amount = 0.1;
  order.any = {"[1,\n2]"};
  EXPECT_EQ(
      bytes_of(JsonLinesFormat({}), order, {}),
      R"({"id":-5,"items":[{"name":"a\"b","count":255},{"name":"","count":0}],"flags":[true,null],"amount":0.1,"any":[1, 2]})"
      "\n");
  order.note = "n";
  order.items.clear();
  order.flags.clear();
  order.amount = 1e300;
  order.any = {"{}", false};
  EXPECT_EQ(bytes_of(JsonLinesFormat({}), order, {}),
            R"({"id":-5,"note":"n","items":[],"flags":[],"amount":1e+300,"any":{}})"
            "\n");
}

TEST(JsonLinesFormat, WritesScalarsTextAndTypesWithAWriterOfTheirOwn) {
  EXPECT_EQ(bytes_of(JsonArrayFormat({}), 7, {}), "7");
  EXPECT_EQ(bytes_of(JsonArrayFormat({}), std::uint64_t{18446744073709551615U}, {}), "18446744073709551615");
  EXPECT_EQ(bytes_of(JsonArrayFormat({}), true, {}), "true");
  EXPECT_EQ(bytes_of(JsonArrayFormat({}), 0.5F, {}), "0.5");
  EXPECT_EQ(bytes_of(JsonArrayFormat({}), std::string("a\tb"), {}), "\"a\\tb\"");
  EXPECT_EQ(bytes_of(JsonArrayFormat({}), std::string_view("x"), {}), "\"x\"");
  EXPECT_EQ(bytes_of(JsonArrayFormat({}), std::vector<std::string>{"a", "b"}, {}), R"(["a","b"])");
  EXPECT_EQ(bytes_of(JsonArrayFormat({}), shop::Cents{150}, {}), "1.5");
}

TEST(JsonLinesFormat, WhatJsonCannotSayIsARecordErrorThatNamesTheField) {
  shop::Order order;
  order.amount = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(bytes_of(JsonLinesFormat({}), order, {}), "wrong_type: field 'amount': JSON has no NaN and no Infinity");
  order.amount = 0;
  order.items = {{"ok", 1}, {"\xFF", 2}};
  EXPECT_EQ(bytes_of(JsonLinesFormat({}), order, {}), "invalid_utf8: field 'items[1].name': the text is not UTF-8");
  EXPECT_EQ(bytes_of(JsonLinesFormat({}), std::string("\xFF"), {}), "invalid_utf8: the text is not UTF-8");
}

TEST(CustomFormat, CallsWhatTheUserGave) {
  auto csv = [](const shop::Item& item, const RecordMeta& meta, ByteBuffer& out) -> Result<void> {
    if (item.name.find(',') != std::string::npos) return fail(Error::record(ErrorCode::malformed, "a comma in a name"));
    out.append(item.name);
    out.push_back(',');
    append_decimal(out, meta.offset.value());
    return {};
  };
  RecordMeta meta;
  meta.offset = Offset(2);
  EXPECT_EQ(bytes_of(CustomFormat(csv), shop::Item{"a", 1}, meta), "a,2");
  EXPECT_EQ(bytes_of(CustomFormat(csv), shop::Item{",", 1}, meta), "malformed: a comma in a name");
}

}  // namespace
}  // namespace millrace::encode
