// SPDX-License-Identifier: Apache-2.0
// Goal: a sink whose writers take chunks apart is given records that can be told apart, and no other sink is (INV-1:
// what is read as fewer records than were written would be acknowledged all the same). Method: chains of every format
// are bound to both kinds of sink.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "millrace/decode/raw.h"
#include "millrace/encode/framed.h"
#include "millrace/ops/ops.h"
#include "tests/chain/lane_rig.h"

namespace millrace {
namespace {

using testing::HasSubstr;

template <class Plan>
std::string why_not(bool framed, Plan plan) {
  LaneRig rig({RigSink{.framed = framed}});
  const auto chain = compile(std::move(plan), rig.context());
  if (chain) return "it was taken";
  EXPECT_EQ(chain.error().code(), ErrorCode::config);
  return chain.error().message();
}

TEST(FramedChain, INV1_ASinkThatTakesRecordsOneByOneTakesNoOtherFormat) {
  const auto write = [](std::string_view, const RecordMeta&, ByteBuffer&) -> Result<void> { return {}; };
  EXPECT_THAT(why_not(true, decode::raw() | encode::raw()), HasSubstr("encode::framed()"));
  EXPECT_THAT(why_not(true, decode::raw() | encode::json_lines()), HasSubstr("stage 2 (json_lines): its sink takes"));
  EXPECT_THAT(why_not(true, decode::raw() | encode::discard()), HasSubstr("encode::framed()"));
  EXPECT_THAT(why_not(true, decode::text() | encode::with(write)), HasSubstr("encode::framed()"));
  EXPECT_EQ(why_not(true, decode::raw() | encode::framed({})), "it was taken");
}

TEST(FramedChain, FramedRecordsGoToNoOtherSink) {
  EXPECT_THAT(why_not(false, decode::raw() | encode::framed({})), HasSubstr("does not take records one by one"));
  EXPECT_EQ(why_not(false, decode::raw() | encode::raw()), "it was taken");
}

TEST(FramedChain, ARecordThatIsTooLargeFollowsItsPolicy) {
  LaneRig rig({RigSink{.framed = true}});
  rig.chain(decode::raw() | encode::framed({.max_record_bytes = 3}, {.on_error = OnError::skip}));
  rig.feed({"one", "three", "two"});
  rig.seal_all();
  std::vector<std::string> values;
  encode::FramedReader reader(rig.queue().texts.at(0));
  for (encode::FramedRecord record; reader.next(record);) values.emplace_back(record.value);
  EXPECT_TRUE(reader.at_end());
  EXPECT_THAT(values, testing::ElementsAre("one", "two"));
}

}  // namespace
}  // namespace millrace
