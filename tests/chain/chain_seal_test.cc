// SPDX-License-Identifier: Apache-2.0
// Where a chain seals, what its acks then answer for, and where it pauses.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "millrace/decode/json.h"
#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/ops/ops.h"
#include "tests/chain/lane_rig.h"

namespace millrace {
namespace {

using Texts = std::vector<std::string>;

SealPolicy records(std::uint64_t count) {
  SealPolicy policy;
  policy.max_bytes = 0;
  policy.max_records = count;
  return policy;
}

SealPolicy hourly() {
  SealPolicy policy;
  policy.boundary = SealPolicy::Boundary::hour;
  return policy;
}
constexpr UnixMicros kHour = 3'600'000'000;

TEST(ChainSeal, INV1_AWatermarkRestsExactlyAtAFilesEnd) {
  LaneRig rig({{.name = "sink", .policy = records(2)}});
  rig.chain(decode::raw() | encode::raw());
  rig.feed({"a", "b", "c"}).feed({"d", "e"});
  EXPECT_EQ(rig.queue().texts, (Texts{"a\nb\n", "c\nd\n"}));
  EXPECT_EQ(rig.queue().reasons, (std::vector<SealReason>{SealReason::records, SealReason::records}));
  rig.queue().deliver();
  EXPECT_EQ(rig.watermark(), 2);
  rig.queue().deliver();
  EXPECT_EQ(rig.watermark(), 4);
  rig.seal_all();
  rig.queue().deliver();
  EXPECT_EQ(rig.watermark(), 5);
}

TEST(ChainSeal, AFileThatEndsWithItsBatchNeedsNoSplit) {
  LaneRig rig({{.name = "sink", .policy = records(2)}});
  rig.chain(decode::raw() | encode::raw());
  rig.feed({"a", "b"});
  rig.queue().deliver();
  EXPECT_EQ(rig.watermark(), 2);
  EXPECT_EQ(rig.checkpointer.pending(), 0U);
}

TEST(ChainSeal, AnAckThatReachesBeyondTheLastPayloadIsSplitBehindIt) {
  // A source may have dropped records behind the last one of the batch.
  LaneRig rig({{.name = "sink", .policy = records(1)}});
  rig.chain(decode::raw() | encode::raw());
  rig.poll({"a"});
  rig.ack.reset();
  rig.ack = rig.issuer.issue(kRigPartition, Offset(9));
  EXPECT_EQ(rig.run().next, 1U);
  EXPECT_EQ(rig.watermark(), 1) << "the first issue was dropped, the rest of the second too; the file is not durable";
  rig.queue().deliver();
  EXPECT_EQ(rig.watermark(), 10);
}

TEST(ChainSeal, RecordsFilteredBehindAFileAreSettledWithTheBatch) {
  LaneRig rig({{.name = "sink", .policy = records(1)}});
  rig.chain(decode::raw() | ops::filter([](std::string_view p) { return p == "a"; }) | encode::raw());
  rig.feed({"a", "b", "c"});
  EXPECT_EQ(rig.watermark(), 0);
  rig.queue().deliver();
  EXPECT_EQ(rig.watermark(), 3);
}

TEST(ChainSeal, TwoSinksThatSealApartEachHoldWhatTheyWrote) {
  LaneRig rig({{.name = "a", .policy = records(2)}, {.name = "b", .policy = records(3)}});
  rig.chain(decode::raw() | ops::fan_out(encode::raw().to("a"), encode::raw().to("b")));
  rig.feed({"0", "1", "2", "3", "4", "5", "6"});
  EXPECT_EQ(rig.queue(0).texts, (Texts{"0\n1\n", "2\n3\n", "4\n5\n"}));
  EXPECT_EQ(rig.queue(1).texts, (Texts{"0\n1\n2\n", "3\n4\n5\n"}));
  rig.queue(0).deliver_all();
  EXPECT_EQ(rig.watermark(), 0);
  rig.queue(1).deliver();
  EXPECT_EQ(rig.watermark(), 3);
  rig.queue(1).deliver();
  EXPECT_EQ(rig.watermark(), 6);
}

TEST(ChainSeal, WhatOneSourceRecordBecameIsNotCutByASeal) {
  SealPolicy small;
  small.max_bytes = 3;
  LaneRig rig({{.name = "sink", .policy = small}});
  rig.chain(decode::raw() | ops::flat_map([](std::string_view p) { return Texts(4, std::string(p)); }) | encode::raw());
  rig.feed({"a", "b"});
  EXPECT_EQ(rig.queue().texts, (Texts{"a\na\na\na\n", "b\nb\nb\nb\n"}));
  EXPECT_EQ(rig.queue().reasons[0], SealReason::size);
}

TEST(ChainSeal, C14_JsonArrayFilesAreWholeArraysAndNeverEmpty) {
  LaneRig rig({{.name = "sink", .policy = records(2), .envelope = {"[", ",", "]"}}});
  rig.chain(decode::json() | encode::json_array());
  rig.feed({"1", "2", "3"});
  rig.seal_all();
  rig.seal_all();
  EXPECT_EQ(rig.queue().texts, (Texts{"[1,2]", "[3]"}));
}

TEST(ChainSeal, AnHoursEndSealsBeforeTheRecordAndTheWatermarkRestsThere) {
  LaneRig rig({{.name = "sink", .policy = hourly()}});
  rig.chain(decode::raw() | encode::raw());
  const std::vector<UnixMicros> times{kHour - 2, kHour - 1, kHour, 3 * kHour};
  rig.poll({"a", "b", "c", "d"});
  rig.batch.timestamps = times;
  EXPECT_EQ(rig.run().next, 4U);
  EXPECT_EQ(rig.queue().texts, (Texts{"a\nb\n", "c\n"}));
  EXPECT_EQ(rig.queue().reasons[0], SealReason::boundary);
  rig.queue().deliver();
  EXPECT_EQ(rig.watermark(), 2);
  rig.queue().deliver();
  EXPECT_EQ(rig.watermark(), 3);
}

TEST(ChainSeal, INV4_StopsBehindTheRecordThatBlocksAndGoesOnThere) {
  LaneRig rig({{.name = "sink", .policy = records(2)}});
  int calls = 0;
  rig.chain(decode::raw() | ops::inspect([&calls](std::string_view) { ++calls; }) | encode::raw());
  rig.queue().room = 1;
  rig.poll({"a", "b", "c", "d", "e", "f"});
  ChainStep step = rig.run();
  EXPECT_EQ(step.next, 4U) << "the second file found no room";
  EXPECT_FALSE(step.error.has_value());
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(rig.run().next, 4U) << "still blocked: nothing is taken";
  EXPECT_EQ(calls, 4);
  rig.queue().room = 5;
  EXPECT_TRUE(rig.outputs.all()[0].second->offer());
  EXPECT_EQ(rig.run().next, 6U);
  EXPECT_EQ(calls, 6) << "each record passed once";
  EXPECT_EQ(rig.queue().texts, (Texts{"a\nb\n", "c\nd\n", "e\nf\n"}));
}

TEST(ChainSeal, INV4_AnHoursEndThatBlocksStopsBeforeTheRecord) {
  LaneRig rig({{.name = "sink", .policy = hourly()}});
  rig.chain(decode::raw() | encode::raw());
  const std::vector<UnixMicros> times{1, kHour};
  rig.queue().room = 0;
  rig.poll({"a", "b"});
  rig.batch.timestamps = times;
  EXPECT_EQ(rig.run().next, 1U);
  rig.queue().room = 1;
  EXPECT_TRUE(rig.outputs.all()[0].second->offer());
  EXPECT_EQ(rig.run().next, 2U);
  rig.queue().deliver();
  EXPECT_EQ(rig.watermark(), 1);
}

TEST(ChainSeal, INV1_WhatIsAbandonedHoldsTheWatermark) {
  LaneRig rig({{.name = "sink", .policy = records(1)}});
  rig.chain(decode::raw() | encode::raw());
  rig.feed({"a"});
  rig.queue().deliver();
  rig.queue().room = 0;
  rig.poll({"b"});
  EXPECT_EQ(rig.run().next, 1U);
  rig.outputs.all()[0].second->abandon();
  EXPECT_EQ(rig.watermark(), 1);
  EXPECT_TRUE(rig.checkpointer.blocked());
}

TEST(ChainSeal, ABatchWithoutAnAckOrWithoutRecordsPasses) {
  LaneRig rig({{.name = "sink", .policy = records(1)}});
  rig.chain(decode::raw() | encode::raw());
  rig.poll({"a", "b"});
  rig.ack.reset();
  EXPECT_EQ(rig.run().next, 2U);
  EXPECT_EQ(rig.queue().texts, (Texts{"a\n", "b\n"}));
  rig.feed({});
  EXPECT_EQ(rig.queue().texts.size(), 2U);
}

}  // namespace
}  // namespace millrace
