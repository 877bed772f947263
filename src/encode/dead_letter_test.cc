// SPDX-License-Identifier: Apache-2.0
// What a dead letter says, byte for byte as docs/formats/dead_letter.md has it; every expectation is written by hand.
#include "millrace/encode/dead_letter.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace {
namespace {

std::string letter(const EncodeSpec& spec, const RecordMeta& meta, std::string_view payload,
                   std::string_view error = "no value") {
  DeadLetterFormat format(spec);
  ByteBuffer out;
  format.append({"stage 1 (decode json)", ErrorCode::malformed, error, payload}, meta, out);
  return std::string(out.view());
}

EncodeSpec as(EncodeFormat format) {
  EncodeSpec spec;
  spec.format = format;
  return spec;
}

RecordMeta at(std::int64_t offset) {
  RecordMeta meta;
  meta.partition = PartitionId(3);
  meta.offset = Offset(offset);
  return meta;
}

TEST(DeadLetter, SaysWhereTheRecordCameFromAndWhyItWasSkipped) {
  const Origin origin{
      .stream = "shop", .topic = "orders", .bucket = "b", .object = "in/a.ndjson", .first_offset = Offset(40)};
  RecordMeta meta = at(42);
  meta.origin = &origin;
  meta.timestamp = 1'784'937'600'123'456;  // 2026-07-25T00:00:00.123456Z
  EXPECT_EQ(
      letter(as(EncodeFormat::json_lines), meta, "{\"n\":"),
      R"j({"offset":42,"timestamp":"2026-07-25T00:00:00.123456Z","stream":"shop","topic":"orders","partition_id":3,)j"
      R"j("bucket":"b","object":"in/a.ndjson","record":3,)j"
      R"j("stage":"stage 1 (decode json)","reason":"malformed","error":"no value","payload":"{\"n\":"})j"
      "\n");
}

TEST(DeadLetter, AMessageHasItsKeyAndHeadersAndNoObject) {
  const Origin origin{.stream = "shop", .topic = "orders"};
  const Header headers[] = {{"trace", "t1"}};
  RecordMeta meta = at(7);
  meta.origin = &origin;
  meta.key = "k";
  meta.has_key = true;
  meta.headers = headers;
  meta.header_count = 1;
  EXPECT_EQ(
      letter(as(EncodeFormat::json_array), meta, "x"),
      R"j({"offset":7,"stream":"shop","topic":"orders","partition_id":3,"key":"k","stage":"stage 1 (decode json)",)j"
      R"j("reason":"malformed","error":"no value","headers":{"trace":"t1"},"payload":"x"})j");
}

// JSON too is quoted: what stands between the quotes, unescaped, is the record, byte for byte.
TEST(DeadLetter, TextIsQuotedAndOtherBytesAreBase64AndSayso) {
  EXPECT_EQ(letter(as(EncodeFormat::json_lines), at(0), "{\"a\": 1}\n"),
            R"j({"offset":0,"partition_id":3,"stage":"stage 1 (decode json)","reason":"malformed","error":"no value",)j"
            R"j("payload":"{\"a\": 1}\n"})j"
            "\n");
  EXPECT_EQ(letter(as(EncodeFormat::json_lines), at(0), "\xFF\xFE"),
            R"j({"offset":0,"partition_id":3,"stage":"stage 1 (decode json)","reason":"malformed","error":"no value",)j"
            R"j("payload":"//4=","payload_encoding":"base64"})j"
            "\n");
  RecordMeta meta = at(0);
  meta.key = "\xFF";
  meta.has_key = true;
  EXPECT_EQ(
      letter(as(EncodeFormat::json_lines), meta, ""),
      R"j({"offset":0,"partition_id":3,"key":{"base64":"/w=="},"stage":"stage 1 (decode json)","reason":"malformed",)j"
      R"j("error":"no value","payload":""})j"
      "\n");
}

TEST(DeadLetter, RawIsTheRecordAloneAndDiscardNothing) {
  EXPECT_EQ(letter(as(EncodeFormat::raw), at(0), "\xFF{"), "\xFF{\n");
  EXPECT_EQ(letter(as(EncodeFormat::discard), at(0), "x"), "");
}

TEST(DeadLetter, ErrorsOfForeignCodeAreMadeText) {
  const std::string all = letter(as(EncodeFormat::json_array), at(0), "x", "bad \xFF byte");
  EXPECT_NE(all.find(R"("error":"bad \\xff byte")"), std::string::npos) << all;
  const std::string longest = letter(as(EncodeFormat::json_array), at(0), "x", std::string(100'000, 'e'));
  EXPECT_LT(longest.size(), 5000U);
  EXPECT_NE(longest.find("...\""), std::string::npos);
}

}  // namespace
}  // namespace millrace
