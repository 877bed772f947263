// SPDX-License-Identifier: Apache-2.0
// Offsets: expected values are worked out by hand from the layout (23 bits, 40 bits), properties from integer order.
#include "connectors/s3/offset.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <utility>

namespace millrace::s3_source {
namespace {

TEST(Offset, PacksOrdinalAboveIndex) {
  EXPECT_EQ(record_offset(0, 0)->value(), 0);
  EXPECT_EQ(record_offset(0, 7)->value(), 7);
  EXPECT_EQ(record_offset(1, 0)->value(), 1099511627776);            // 2^40
  EXPECT_EQ(record_offset(3, 5)->value(), 3298534883328 + 5);        // 3 * 2^40 + 5
  EXPECT_EQ(completion_offset(0).value(), 1099511627774);            // 2^40 - 2
  EXPECT_EQ(one_past(completion_offset(0)).value(), 1099511627775);  // 2^40 - 1
}

TEST(Offset, LargestWatermarkIsExactlyMaxInt64) {
  const Offset last = completion_offset((1U << 23U) - 1);
  EXPECT_EQ(one_past(last).value(), std::numeric_limits<std::int64_t>::max());
  const auto position = position_of(one_past(last));
  ASSERT_TRUE(position);
  EXPECT_EQ(position->ordinal, 8388607U);
  EXPECT_TRUE(position->object_complete());
}

TEST(Offset, RefusesToEncodeOutOfRange) {
  const auto ordinal = record_offset(8388608, 0);
  ASSERT_FALSE(ordinal);
  EXPECT_EQ(ordinal.error().code(), ErrorCode::limit);
  EXPECT_NE(ordinal.error().message().find("raise lanes"), std::string::npos);
  // 2^40 - 2 would make "one past" the reserved index.
  const auto index = record_offset(0, 1099511627774);
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().code(), ErrorCode::limit);
  EXPECT_TRUE(record_offset(8388607, 1099511627773));
}

TEST(Offset, RefusesNegativeWatermarks) {
  const auto position = position_of(Watermark(-1));
  ASSERT_FALSE(position);
  EXPECT_EQ(position.error().code(), ErrorCode::drift);
}

using Pair = std::pair<std::uint64_t, std::uint64_t>;
rc::Gen<Pair> any_record() {
  return rc::gen::pair(
      rc::gen::inRange<std::uint64_t>(0, kMaxObjectsPerLane),
      rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 4), rc::gen::inRange<std::uint64_t>(0, kMaxRecordsPerObject),
                     rc::gen::inRange<std::uint64_t>(kMaxRecordsPerObject - 3, kMaxRecordsPerObject)));
}

RC_GTEST_PROP(Offset, IntegerOrderIsPairOrder, ()) {
  const Pair a = *any_record();
  const Pair b = *any_record();
  RC_ASSERT((record_offset(a.first, a.second)->value() < record_offset(b.first, b.second)->value()) == (a < b));
}

RC_GTEST_PROP(Offset, RisesStrictlyOverObjectBoundaries, ()) {
  const Pair a = *any_record();
  RC_PRE(a.first + 1 < kMaxObjectsPerLane);
  const std::int64_t record = record_offset(a.first, a.second)->value();
  const std::int64_t completion = completion_offset(a.first).value();
  RC_ASSERT(record < completion);
  RC_ASSERT(completion < record_offset(a.first + 1, 0)->value());
  // A batch that completes an object never shares its last offset with the first of the next.
  RC_ASSERT(one_past(completion_offset(a.first)).value() < record_offset(a.first + 1, 0)->value());
}

RC_GTEST_PROP(Offset, WatermarkDecodingInvertsOnePast, ()) {
  const Pair a = *any_record();
  const auto position = position_of(one_past(*record_offset(a.first, a.second)));
  RC_ASSERT(position->ordinal == a.first);
  RC_ASSERT(position->index == a.second + 1);
  RC_ASSERT(!position->object_complete());
  RC_ASSERT(watermark_of(*position) == one_past(*record_offset(a.first, a.second)));
}

}  // namespace
}  // namespace millrace::s3_source
