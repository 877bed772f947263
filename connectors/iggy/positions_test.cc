// SPDX-License-Identifier: Apache-2.0
// Positions in both ways of counting, and what waits for a store.
#include "connectors/iggy/positions.h"

#include <gtest/gtest.h>

#include <vector>

#include "connectors/iggy/partition.h"
#include "millrace/testing/manual_clock.h"

namespace millrace::iggy_source {
namespace {

TEST(IggyPositions, TheServerKeepsTheLastMessageProcessed) {
  EXPECT_EQ(stored_offset(Watermark(0)), std::nullopt) << "nothing is processed: there is no offset for that";
  EXPECT_EQ(stored_offset(Watermark(1)), 0U);
  EXPECT_EQ(watermark_behind(0), Watermark(1));
  for (const std::uint64_t offset : {0ULL, 1ULL, 41ULL, 9'000'000'000ULL}) {
    EXPECT_EQ(stored_offset(watermark_behind(offset)), offset);
  }
}

TEST(IggyPositions, PartitionsOfSeveralTopicsDoNotMeet) {
  EXPECT_EQ(id_of({0, 3}), PartitionId(3));
  EXPECT_EQ(id_of({2, 3}), PartitionId(200'003));
  EXPECT_EQ(partition_of(PartitionId(200'003)), (Partition{2, 3}));
}

TEST(IggyPositions, WhatWaitsForAStore) {
  testing::ManualClock clock;
  Positions positions;
  const PartitionId one(1);
  const auto none = clock.now();
  positions.settle({one, Watermark(5)}, std::nullopt);
  EXPECT_TRUE(positions.to_store().empty()) << "not ours";
  positions.own(one, Watermark(2), Watermark(2), std::nullopt, 0);
  EXPECT_TRUE(positions.wait_until_stored(clock, none));
  positions.settle({one, Watermark(5)}, std::nullopt);
  EXPECT_EQ(positions.to_store(), (std::vector<PartitionWatermark>{{one, Watermark(5)}}));
  EXPECT_EQ(positions.wait_until_stored(clock, none).error().code(), ErrorCode::deadline);
  positions.store_failed(Error::retryable(ErrorCode::closed, "gone"));
  EXPECT_EQ(positions.wait_until_stored(clock, none).error().code(), ErrorCode::closed);
  positions.stored({one, Watermark(5)});
  EXPECT_TRUE(positions.wait_until_stored(clock, none));
  positions.settle({one, Watermark(6)}, std::nullopt);
  positions.withdraw(one);
  EXPECT_TRUE(positions.wait_until_stored(clock, none)) << "not ours to store";
  EXPECT_EQ(positions.settled(one), Watermark(6)) << "but durable all the same";
}

TEST(IggyPositions, WhatIsRefusedWaitsForTheServersWord) {
  constexpr PartitionId kOne(1);
  constexpr PartitionId kTwo(2);
  Positions positions;
  for (const PartitionId id : {kOne, kTwo}) {
    positions.own(id, Watermark(0), std::nullopt, std::nullopt, 0);
    positions.settle({id, Watermark(5)}, std::nullopt);
    EXPECT_FALSE(positions.refused(id));
  }
  EXPECT_TRUE(positions.to_store().empty());
  EXPECT_FALSE(positions.wait_until_stored(Clock::real(), SteadyTime::min())) << "nothing is dropped yet";
  EXPECT_EQ(positions.assigned({kOne}), (std::vector<PartitionWatermark>{{kTwo, Watermark(5)}}));
  EXPECT_EQ(positions.to_store(), (std::vector<PartitionWatermark>{{kOne, Watermark(5)}}));
  EXPECT_TRUE(positions.kept(kTwo)->yielded);
  EXPECT_FALSE(positions.kept(kOne)->yielded);
  positions.stored({kOne, Watermark(5)});
  EXPECT_TRUE(positions.wait_until_stored(Clock::real(), SteadyTime::min()));
  positions.doubt_all();
  EXPECT_TRUE(positions.to_store().empty()) << "not before its messages were looked at";
  ASSERT_EQ(positions.doubts().size(), 1U);
  positions.trust(kOne);
  EXPECT_EQ(positions.to_store(), (std::vector<PartitionWatermark>{{kOne, Watermark(5)}}));
  positions.close(Error::fatal(ErrorCode::drift, "over"));
  const auto waited = positions.wait_until_stored(Clock::real(), SteadyTime::max());
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().message(), "over");
}

TEST(IggyPositions, APartitionThatIsNotKnownStaysUnknown) {
  Positions positions;
  positions.withdraw(PartitionId(3));
  positions.stored({PartitionId(3), Watermark(5)});
  EXPECT_EQ(positions.settled(PartitionId(3)), std::nullopt);
  EXPECT_EQ(positions.stored(PartitionId(3)), std::nullopt);
}

}  // namespace
}  // namespace millrace::iggy_source
