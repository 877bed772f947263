// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/known_message.h"

#include <gtest/gtest.h>

namespace millrace::iggy_source {
namespace {

TEST(IggyKnownMessages, TheOneThatVouchesForAllBeforeAWatermark) {
  KnownMessages all;
  EXPECT_EQ(all.settle(Watermark(10)), std::nullopt);
  all.add({9, {1, 0}, 5});
  all.add({19, {2, 0}, 6});
  EXPECT_EQ(all.settle(Watermark(9)), (KnownMessage{9, {1, 0}, 5})) << "8 goes no later than 9";
  EXPECT_EQ(all.settle(Watermark(10)), (KnownMessage{9, {1, 0}, 5}));
  EXPECT_EQ(all.settle(Watermark(15)), (KnownMessage{19, {2, 0}, 6})) << "9 may be there, and 14 not";
  EXPECT_EQ(all.settle(Watermark(16)), (KnownMessage{19, {2, 0}, 6})) << "kept";
  EXPECT_EQ(all.settle(Watermark(20)), (KnownMessage{19, {2, 0}, 6}));
  EXPECT_EQ(all.settle(Watermark(25)), (KnownMessage{19, {2, 0}, 6})) << "nothing behind it is known";
  for (std::uint64_t i = 20; i < 10'000; ++i) all.add({i, {i, 0}, i});
  EXPECT_EQ(all.settle(Watermark(10'000)), (KnownMessage{9'999, {9'999, 0}, 9'999})) << "the newest is always there";
}

}  // namespace
}  // namespace millrace::iggy_source
