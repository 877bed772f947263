// SPDX-License-Identifier: Apache-2.0
// Decoders in a chain: which records a payload becomes, and what a bad one is called; and the chain of a configuration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "millrace/decode/json.h"
#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/ops/map.h"
#include "millrace/pipeline/config_chain.h"
#include "tests/chain/lane_rig.h"

namespace shop {

struct Sale {
  std::int64_t id = 0;
  std::string_view customer;
};
MILLRACE_JSON_FIELDS(Sale, id, customer);

}  // namespace shop

namespace millrace {
namespace {

using decode::JsonFraming;
using shop::Sale;
using testing::HasSubstr;

using Skipped = std::vector<std::pair<ErrorCode, std::uint64_t>>;

std::shared_ptr<const Origin> object() {
  auto origin = std::make_shared<Origin>();
  origin->bucket = "b";
  origin->object = "in/a.ndjson";
  return origin;
}

TEST(ChainDecode, C07_TextMustBeUtf8) {
  LaneRig rig;
  rig.chain(decode::text({.on_error = OnError::skip}) | encode::json_lines());
  rig.feed({"caf\xC3\xA9", "\xFF", ""});
  EXPECT_EQ(rig.written(), "\"caf\xC3\xA9\"\n\"\"\n");
  EXPECT_EQ(rig.counts.skipped, (Skipped{{ErrorCode::invalid_utf8, 1}}));
}

TEST(ChainDecode, C07_BadRecordsAreSkippedOrNamedByObjectAndRecord) {
  LaneRig skipping;
  skipping.origin = object();
  skipping.chain(decode::json({.on_error = OnError::skip}) | encode::json_lines());
  skipping.feed({"{\"n\":\"\xFF\"}", R"({"n":"ok"})", "{\"n\":\"\xED\xA0\x80\"}"});
  EXPECT_EQ(skipping.written(), "{\"n\":\"ok\"}\n");
  EXPECT_EQ(skipping.counts.skipped, (Skipped{{ErrorCode::invalid_utf8, 2}}));
  LaneRig failing;
  failing.origin = object();
  failing.chain(decode::json() | encode::json_lines());
  failing.poll({R"({"n":1})", "{\"n\":\"\xFF\"}"});
  EXPECT_EQ(
      failing.run().error->message(),
      "record 2 of b/in/a.ndjson (partition 5, offset 1), stage 1 (decode json): not valid JSON at byte 6: the bytes "
      "here are not UTF-8");
}

TEST(ChainDecode, TypedFaultsNameFieldOffsetAndObject) {
  LaneRig rig;
  rig.origin = object();
  rig.chain(decode::json<Sale>() | encode::json_lines());
  rig.poll({R"({"id":"7","customer":"a"})"});
  EXPECT_EQ(rig.run().error->message(),
            "record 1 of b/in/a.ndjson (partition 5, offset 0), stage 1 (decode json): field 'id' (byte 6): expected a "
            "whole number, found a string");
}

TEST(ChainDecode, C10_C12_MalformedDocumentsFailWithAHint) {
  LaneRig rig;
  rig.chain(decode::json() | encode::json_lines());
  rig.poll({R"({"n":1}{"n":2}{"n":3})"});
  EXPECT_THAT(rig.run().error->message(), HasSubstr("side by side without a newline"));
  rig.poll({"{", "  \"n\": 1", "}"});
  const ChainStep step = rig.run();
  EXPECT_THAT(step.error->message(), HasSubstr("printed over several lines"));
  EXPECT_EQ(step.next, 0U);
  EXPECT_EQ(rig.written(), "");
}

TEST(ChainDecode, BlankPayloadsAreNoRecordAndNoError) {
  for (const auto framing : {JsonFraming::single, JsonFraming::lines, JsonFraming::array}) {
    LaneRig rig;
    rig.chain(decode::json({.framing = framing}) | encode::json_lines());
    rig.feed({"", " \t\r"});
    EXPECT_EQ(rig.written(), "");
    EXPECT_EQ(rig.counts.filtered, 2U);
    EXPECT_EQ(rig.watermark(), 2);
    LaneRig typed;
    typed.chain(decode::json<Sale>({.framing = framing}) | encode::json_lines());
    typed.feed({"", " \t\r"});
    EXPECT_EQ(typed.counts.filtered, 2U);
  }
}

TEST(ChainDecode, LinesAreJudgedOneByOne) {
  LaneRig rig;
  rig.chain(decode::json({.on_error = OnError::skip, .framing = JsonFraming::lines}) | encode::json_lines());
  rig.feed({"{\"a\":1}\r\n\n  \n{\"a\":tru}\n{\"a\":2}", "3\n"});
  EXPECT_EQ(rig.written(), "{\"a\":1}\n{\"a\":2}\n3\n");
  EXPECT_EQ(rig.counts.skipped, (Skipped{{ErrorCode::malformed, 1}}));
  EXPECT_EQ(rig.counts.records_in, 2U);
  EXPECT_EQ(rig.counts.records_decoded, 3U);
}

TEST(ChainDecode, LinesThatFailLeaveNothing) {
  LaneRig rig;
  rig.chain(decode::json({.framing = JsonFraming::lines}) | encode::json_lines());
  rig.poll({"1\n2\ntru\n"});
  EXPECT_TRUE(rig.run().error.has_value());
  EXPECT_EQ(rig.written(), "");
}

TEST(ChainDecode, ArraysAreAllOrNothing) {
  LaneRig rig;
  rig.chain(decode::json({.on_error = OnError::skip, .framing = JsonFraming::array}) | encode::json_lines());
  rig.feed({"[1, 2,{\"a\":[]}]", "[3,tru]", "{}", "[]"});
  EXPECT_EQ(rig.written(), "1\n2\n{\"a\":[]}\n");
  EXPECT_EQ(rig.counts.skipped, (Skipped{{ErrorCode::malformed, 1}, {ErrorCode::wrong_type, 1}}));

  LaneRig typed;
  typed.chain(decode::json<Sale>({.on_error = OnError::skip, .framing = JsonFraming::array}) |
              ops::map(&Sale::customer) | encode::raw({.delimiter = ","}));
  typed.feed({R"([{"id":1,"customer":"\u0061"},{"id":2,"customer":"b"}])", R"([{"id":1,"customer":"c"},{"id":2}])"});
  EXPECT_EQ(typed.written(), "a,b,");
  EXPECT_EQ(typed.counts.skipped, (Skipped{{ErrorCode::missing_field, 1}}));
}

TEST(ChainDecode, RepeatedKeysPassOrAreRefused) {
  LaneRig keeping;
  keeping.chain(decode::json() | encode::json_lines()).feed({R"({"a":1,"a":2})"});
  EXPECT_EQ(keeping.written(), "{\"a\":1,\"a\":2}\n");
  LaneRig refusing;
  refusing.chain(decode::json({.on_error = OnError::skip, .reject_duplicate_keys = true}) | encode::json_lines());
  refusing.feed({R"({"a":1,"a":2})", R"({"a":{"a":1}})"});
  EXPECT_EQ(refusing.written(), "{\"a\":{\"a\":1}}\n");
  EXPECT_EQ(refusing.counts.skipped, (Skipped{{ErrorCode::duplicate_key, 1}}));
}

TEST(ConfigChain, AnyDecoderMeetsAnyFormat) {
  const auto write = [](DecodeOptions::Kind kind, const EncodeSpec& encode) {
    LaneRig rig;
    DecodeOptions decode;
    decode.kind = kind;
    rig.chain(make_config_chain(decode, encode)).feed({R"({"a":1})", "[2]"});
    EXPECT_EQ(rig.counts.records_out, 2U);
    return rig.written();
  };
  using Kind = DecodeOptions::Kind;
  EncodeSpec raw;
  raw.delimiter = ";";
  EncodeSpec lines;
  lines.format = EncodeFormat::json_lines;
  EncodeSpec array = lines;
  array.format = EncodeFormat::json_array;
  array.wrap = true;
  array.include_metadata = false;
  EncodeSpec discard;
  discard.format = EncodeFormat::discard;
  for (const Kind kind : {Kind::none, Kind::raw, Kind::text, Kind::json}) {
    const bool text = kind == Kind::text;
    EXPECT_EQ(write(kind, raw), "{\"a\":1};[2];");
    EXPECT_EQ(write(kind, discard), "");
    EXPECT_EQ(write(kind, lines), text ? "\"{\\\"a\\\":1}\"\n\"[2]\"\n" : "{\"a\":1}\n[2]\n");
    EXPECT_EQ(write(kind, array),
              text ? R"({"payload":"{\"a\":1}"}{"payload":"[2]"})" : R"({"payload":{"a":1}}{"payload":[2]})");
  }
}

TEST(ConfigChain, OptionsReachTheDecoder) {
  EncodeSpec lines;
  lines.format = EncodeFormat::json_lines;
  LaneRig rig;
  rig.chain(make_config_chain({.kind = DecodeOptions::Kind::json,
                               .on_error = OnError::skip,
                               .reject_duplicate_keys = true,
                               .framing = JsonFraming::lines},
                              lines));
  rig.feed({"1\n{\"a\":1,\"a\":1}\n2"});
  EXPECT_EQ(rig.written(), "1\n2\n");
  EXPECT_EQ(rig.counts.skipped, (Skipped{{ErrorCode::duplicate_key, 1}}));
}

}  // namespace
}  // namespace millrace
