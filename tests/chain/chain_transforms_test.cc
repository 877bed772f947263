// SPDX-License-Identifier: Apache-2.0
// Transforms in a chain: what reaches the sink, what is counted, and what becomes of a record they cannot be applied
// to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/ops/map.h"
#include "millrace/pipeline/config_chain.h"
#include "tests/chain/lane_rig.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Skipped = std::vector<std::pair<ErrorCode, std::uint64_t>>;

EncodeSpec lines() {
  EncodeSpec spec;
  spec.format = EncodeFormat::json_lines;
  return spec;
}

ops::TransformProgram program(std::vector<ops::TransformSpec> list) {
  auto made = ops::TransformProgram::make(std::move(list));
  EXPECT_TRUE(made.has_value()) << made.error().message();
  return made ? *std::move(made) : ops::TransformProgram();
}

DecodeOptions json(OnError on_error) {
  DecodeOptions decode;
  decode.kind = DecodeOptions::Kind::json;
  decode.on_error = on_error;
  return decode;
}

ops::TransformSpec sets(std::vector<std::string> path, std::string value) {
  return ops::AddFields{{{FieldPath{std::move(path)}, {ops::FieldValue::Computed::none, std::move(value)}, {}}}};
}

TEST(ChainTransforms, INV6_WhatIsFilteredIsCounted) {
  LaneRig rig;
  rig.chain(make_config_chain({}, lines(), program({ops::KeepWhere{"a > 1"}, sets({"b"}, "0")})));
  rig.feed({R"({"a":1})", R"({"a": 2})", R"({"a":3,"b":1})", " "});
  EXPECT_EQ(rig.written(), "{\"a\": 2,\"b\":0}\n{\"a\":3,\"b\":0}\n");
  EXPECT_EQ(rig.counts.filtered, 2U) << "the blank one holds no document";
  EXPECT_EQ(rig.counts.records_out, 2U);
  rig.queue().deliver_all();
  EXPECT_EQ(rig.watermark(), 4) << "INV-1: what is dropped on purpose is settled with its batch";
}

TEST(ChainTransforms, ARecordTheyCannotBeAppliedToFailsWithItsPlaceAndTransform) {
  LaneRig rig;
  rig.chain(
      make_config_chain(json(OnError::fail), lines(), program({ops::UnwrapEnvelope{{{"d"}}}, sets({"u", "n"}, "1")})));
  rig.poll({R"({"d":{}})", R"({"d":{"u":"x"}})", R"({"d":{}})"});
  const ChainStep step = rig.run();
  EXPECT_EQ(step.next, 1U);
  ASSERT_TRUE(step.error.has_value());
  EXPECT_TRUE(step.error->is_record());
  EXPECT_EQ(step.error->code(), ErrorCode::wrong_type);
  EXPECT_THAT(step.error->message(), HasSubstr("offset 1 of partition 5"));
  EXPECT_THAT(step.error->message(), HasSubstr("stage 2 (transforms[1], add_fields)"));
  EXPECT_THAT(step.error->message(), HasSubstr("'u.n' cannot be set: 'u' on its way is a string (byte 5)"));
}

TEST(ChainTransforms, INV6_OrIsSkippedCountedAndKept) {
  LaneRig rig({RigSink{}, RigSink{.name = std::string(kDeadLetterSink)}});
  rig.chain(make_config_chain(json(OnError::skip), lines(), program({sets({"u", "n"}, "1")})));
  rig.feed({R"({"u":7})", R"({"u":{}})"});
  EXPECT_EQ(rig.written(0), "{\"u\":{\"n\":1}}\n");
  EXPECT_THAT(rig.written(1), HasSubstr(R"({"u":7})"));
  EXPECT_EQ(rig.counts.dead_lettered, (Skipped{{ErrorCode::wrong_type, 1}}));
  EXPECT_EQ(rig.counts.filtered, 0U);
}

TEST(ChainTransforms, TheyAreForWhatIsJsonWithoutDecodeToo) {
  LaneRig rig;
  DecodeOptions skip;
  skip.on_error = OnError::skip;
  rig.chain(make_config_chain(skip, lines(), program({ops::DeleteFields{{FieldPath{{"a"}}}}})));
  rig.feed({R"({"a":1)", R"({"a":1})"});
  EXPECT_EQ(rig.written(), "{}\n");
  EXPECT_EQ(rig.counts.skipped, (Skipped{{ErrorCode::malformed, 1}}));
}

TEST(ChainTransforms, InAChainOfCodeOverAnyBytes) {
  const auto list = program({ops::RenameFields{{{FieldPath{{"a"}}, "b"}}}});
  LaneRig rig;
  rig.chain(decode::raw() | ops::transforms(list, {.on_error = OnError::skip}) |
            ops::map([](const decode::Json& document) { return std::string(document.view) + "!"; }) | encode::raw());
  rig.feed({R"({"a":1})", "no"});
  EXPECT_EQ(rig.written(), "{\"b\":1}!\n");
  EXPECT_EQ(rig.counts.skipped, (Skipped{{ErrorCode::malformed, 1}}));
}

TEST(ChainTransforms, ADocumentOfSeveralLinesStaysARecordOfOne) {
  LaneRig rig;
  rig.chain(make_config_chain({}, lines(), program({sets({"b"}, "2")})));
  rig.feed({"{\n  \"a\": 1\r\n}"});
  EXPECT_EQ(rig.written(), "{   \"a\": 1,\"b\":2  }\n");
}

TEST(ChainTransforms, RowsOfCsvAreDocumentsToo) {
  LaneRig rig;
  auto origin = std::make_shared<Origin>();
  auto columns = std::make_shared<Columns>();
  columns->names = {"id", "name"};
  origin->columns = columns;
  rig.origin = origin;
  DecodeOptions decode;
  decode.kind = DecodeOptions::Kind::csv;
  rig.chain(make_config_chain(decode, lines(), program({ops::ProjectFields{{FieldPath{{"name"}}}}})));
  rig.feed({"1,ann", "2,bob"});
  EXPECT_EQ(rig.written(), "{\"name\":\"ann\"}\n{\"name\":\"bob\"}\n");
}

}  // namespace
}  // namespace millrace
