// SPDX-License-Identifier: Apache-2.0
#include "millrace/checkpoint/checkpointer.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr PartitionId kA{1};
constexpr PartitionId kB{2};
using Watermarks = std::vector<PartitionWatermark>;

TEST(Checkpointer, INV5_AStaleAckMovesNothing) {
  Checkpointer checkpointer;
  AckIssuer issuer = checkpointer.issuer();
  checkpointer.begin_epoch(std::vector{kA});
  AckRef stale = issuer.issue(kA, Offset(99));
  checkpointer.begin_epoch(std::vector{kA});
  AckRef fresh = issuer.issue(kA, Offset(4));
  stale.reset();
  auto drained = checkpointer.drain();
  EXPECT_EQ(drained.stale, 1U);
  EXPECT_EQ(drained.applied, 0U);
  EXPECT_TRUE(checkpointer.take_watermarks().empty());
  fresh.reset();
  EXPECT_EQ(checkpointer.drain().applied, 1U);
  EXPECT_EQ(checkpointer.take_watermarks(), (Watermarks{{kA, Watermark(5)}}));
}

// K04: acks of a revoked partition change nothing, also after it came back.
TEST(Checkpointer, K04_ARevokedPartitionsAcksAreDiscarded) {
  Checkpointer checkpointer;
  AckIssuer issuer = checkpointer.issuer();
  checkpointer.begin_epoch(std::vector{kA, kB});
  AckRef of_a = issuer.issue(kA, Offset(9));
  AckRef of_b = issuer.issue(kB, Offset(9));
  checkpointer.revoke(std::vector{kA});
  of_a.reset();
  of_b.reset();
  const auto drained = checkpointer.drain();
  EXPECT_EQ(drained.stale, 1U);
  EXPECT_EQ(drained.applied, 1U);
  EXPECT_EQ(checkpointer.take_watermarks(), (Watermarks{{kB, Watermark(10)}}));
  EXPECT_EQ(checkpointer.pending(), 0U);
}

TEST(Checkpointer, WatermarksAreTakenOnce) {
  Checkpointer checkpointer;
  AckIssuer issuer = checkpointer.issuer();
  checkpointer.begin_epoch(std::vector{kA});
  issuer.issue(kA, Offset(0)).reset();
  checkpointer.drain();
  EXPECT_EQ(checkpointer.take_watermarks().size(), 1U);
  EXPECT_TRUE(checkpointer.take_watermarks().empty());
}

TEST(Checkpointer, AFailedCommitIsMergedByMaximum) {
  Checkpointer checkpointer;
  AckIssuer issuer = checkpointer.issuer();
  checkpointer.begin_epoch(std::vector{kA, kB});
  issuer.issue(kA, Offset(0)).reset();
  issuer.issue(kB, Offset(7)).reset();
  checkpointer.drain();
  const auto lost = checkpointer.take_watermarks();
  issuer.issue(kA, Offset(5)).reset();
  checkpointer.drain();
  checkpointer.put_back(lost);
  EXPECT_EQ(checkpointer.take_watermarks(), (Watermarks{{kA, Watermark(6)}, {kB, Watermark(8)}}));
}

TEST(Checkpointer, PendingCountsWhatIsNotBehindTheWatermark) {
  Checkpointer checkpointer;
  AckIssuer issuer = checkpointer.issuer();
  checkpointer.begin_epoch(std::vector{kA});
  AckRef first = issuer.issue(kA, Offset(0));
  AckRef second = issuer.issue(kA, Offset(1));
  second.reset();
  checkpointer.drain();
  EXPECT_EQ(checkpointer.pending(kA), 2U);
  first.fail();
  first.reset();
  EXPECT_EQ(checkpointer.drain().failed, 1U);
  EXPECT_EQ(checkpointer.pending(kA), 2U);
  EXPECT_TRUE(checkpointer.blocked(kA));
}

}  // namespace
}  // namespace millrace
