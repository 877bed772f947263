// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tracker.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Tracker, TheWatermarkIsTheEndOfTheDeliveredPrefix) {
  Tracker tracker;
  EXPECT_FALSE(tracker.watermark());
  EXPECT_TRUE(tracker.apply(BatchSeq(1), Offset(19), AckStatus::delivered));
  EXPECT_FALSE(tracker.watermark());
  EXPECT_TRUE(tracker.apply(BatchSeq(0), Offset(9), AckStatus::delivered));
  EXPECT_EQ(tracker.watermark(), Watermark(20));
  EXPECT_EQ(tracker.settled(), 2U);
}

TEST(Tracker, AFailedBatchBlocksWhatIsBehindItForGood) {
  Tracker tracker;
  tracker.apply(BatchSeq(1), Offset(19), AckStatus::failed);
  EXPECT_FALSE(tracker.blocked()) << "counts only when reached";
  tracker.apply(BatchSeq(2), Offset(29), AckStatus::delivered);
  tracker.apply(BatchSeq(0), Offset(9), AckStatus::delivered);
  EXPECT_TRUE(tracker.blocked());
  EXPECT_EQ(tracker.watermark(), Watermark(10));
}

TEST(Tracker, NotesEachBatchOnce) {
  Tracker tracker;
  EXPECT_TRUE(tracker.apply(BatchSeq(0), Offset(9), AckStatus::delivered));
  EXPECT_FALSE(tracker.apply(BatchSeq(0), Offset(99), AckStatus::delivered));
  EXPECT_TRUE(tracker.apply(BatchSeq(2), Offset(29), AckStatus::delivered));
  EXPECT_FALSE(tracker.apply(BatchSeq(2), Offset(99), AckStatus::failed));
  EXPECT_EQ(tracker.watermark(), Watermark(10));
}

TEST(Tracker, GrowsWithTheNumberOfOpenBatches) {
  Tracker tracker;
  for (std::uint64_t seq = 1000; seq > 0; --seq)
    tracker.apply(BatchSeq(seq), Offset(static_cast<std::int64_t>(seq)), AckStatus::delivered);
  EXPECT_FALSE(tracker.watermark());
  tracker.apply(BatchSeq(0), Offset(0), AckStatus::delivered);
  EXPECT_EQ(tracker.watermark(), Watermark(1001));
  EXPECT_EQ(tracker.settled(), 1001U);
}

}  // namespace
}  // namespace millrace
