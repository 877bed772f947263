// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "millrace/ack/ack_issuer.h"

namespace millrace {
namespace {

constexpr PartitionId kPartition{7};

struct AckTest : testing::Test {
  std::shared_ptr<AckQueue> queue = AckQueue::make();
  AckIssuer issuer{queue};
  std::vector<Resolution> drain() {
    std::vector<Resolution> out;
    queue->drain(out);
    std::ranges::sort(out, {}, &Resolution::seq);
    return out;
  }
  void SetUp() override { std::ignore = queue->begin_epoch(std::vector{kPartition}); }
};

TEST_F(AckTest, INV1_ABatchResolvesWhenItsLastCopyGoes) {
  AckRef first = issuer.issue(kPartition, Offset(41));
  AckRef second = first;
  first.reset();
  EXPECT_TRUE(drain().empty());
  second.reset();
  const auto resolved = drain();
  ASSERT_EQ(resolved.size(), 1U);
  EXPECT_EQ(resolved[0].last_offset, Offset(41));
  EXPECT_EQ(resolved[0].status, AckStatus::delivered);
}

TEST_F(AckTest, TheWorstStatusWins) {
  AckRef first = issuer.issue(kPartition, Offset(1));
  AckRef second = first;
  first.fail();
  first.reset();
  second.reset();
  EXPECT_EQ(drain().at(0).status, AckStatus::failed);
}

TEST_F(AckTest, MovingResolvesNothing) {
  AckRef first = issuer.issue(kPartition, Offset(1));
  AckRef second = std::move(first);
  AckSet set;
  set.add(second);
  second.reset();
  AckSet moved = std::move(set);
  EXPECT_TRUE(drain().empty());
  moved.deliver();
  EXPECT_EQ(drain().at(0).status, AckStatus::delivered);
}

TEST_F(AckTest, INV1_ASetThatDiesUndeliveredFailsItsBatches) {
  {
    AckSet set;
    set.add(issuer.issue(kPartition, Offset(1)));
  }
  EXPECT_EQ(drain().at(0).status, AckStatus::failed);
  {
    AckSet set;
    set.add(issuer.issue(kPartition, Offset(2)));
    set = AckSet();
  }
  EXPECT_EQ(drain().at(0).status, AckStatus::failed);
}

TEST_F(AckTest, ASetHoldsABatchOnce) {
  AckSet set;
  const AckRef first = issuer.issue(kPartition, Offset(9));
  for (int i = 0; i < 10; ++i) set.add(first);
  set.add(issuer.issue(kPartition, Offset(19)));
  EXPECT_EQ(set.size(), 2U);
  set.deliver();
}

// A split leaves two batches that follow each other without a gap; what was held before the split answers for the
// front.
TEST_F(AckTest, SplitCutsABatchInTwo) {
  AckRef whole = issuer.issue(kPartition, Offset(99));
  AckSet sealed;
  sealed.add(whole);
  AckRef rest = issuer.split(whole, Offset(30));
  EXPECT_FALSE(rest.same_batch(whole));
  EXPECT_EQ(rest.last_offset(), Offset(99));
  whole.reset();
  EXPECT_TRUE(drain().empty());
  sealed.deliver();
  rest.fail();
  rest.reset();
  const auto resolved = drain();
  ASSERT_EQ(resolved.size(), 2U);
  EXPECT_EQ(resolved[0].last_offset, Offset(30));
  EXPECT_EQ(resolved[0].status, AckStatus::delivered);
  EXPECT_EQ(resolved[1].seq.value(), resolved[0].seq.value() + 1);
  EXPECT_EQ(resolved[1].last_offset, Offset(99));
  EXPECT_EQ(resolved[1].status, AckStatus::failed);
}

// A source that issues ahead, or a lane of an earlier assignment that comes back late, has taken the number that the
// rest needs: nothing of the batch may be delivered then.
TEST_F(AckTest, INV1_ABatchThatIsNotTheNewestFailsWhenItIsSplit) {
  AckRef whole = issuer.issue(kPartition, Offset(9));
  AckRef ahead = issuer.issue(kPartition, Offset(19));
  EXPECT_FALSE(issuer.split(whole, Offset(4)));
  whole.reset();
  ahead.reset();
  const auto resolved = drain();
  ASSERT_EQ(resolved.size(), 3U);
  for (const Resolution& one : resolved) {
    EXPECT_EQ(one.status, one.last_offset == Offset(19) ? AckStatus::delivered : AckStatus::failed);
  }
}

TEST_F(AckTest, INV5_OutsideTheEpochHandlesAreInert) {
  EXPECT_FALSE(issuer.issue(PartitionId(8), Offset(1)));
  AckRef stale = issuer.issue(kPartition, Offset(5));
  queue->revoke(std::vector{kPartition});
  EXPECT_FALSE(issuer.issue(kPartition, Offset(6)));
  EXPECT_FALSE(issuer.split(stale, Offset(2)));
  std::ignore = queue->begin_epoch(std::vector{kPartition});
  EXPECT_FALSE(issuer.split(stale, Offset(2)));
  const AckRef fresh = issuer.issue(kPartition, Offset(6));
  EXPECT_TRUE(fresh);
  EXPECT_EQ(issuer.pending(kPartition), 1U);
}

TEST_F(AckTest, AnAckOutlivesItsQueue) {
  AckRef ack = issuer.issue(kPartition, Offset(1));
  issuer = AckIssuer();
  queue.reset();
  ack.reset();  // ASan would see a queue freed too early or never
}

TEST_F(AckTest, ADefaultIssuerIssuesNothing) {
  AckIssuer none;
  EXPECT_FALSE(none.issue(kPartition, Offset(1)));
  EXPECT_EQ(none.pending(kPartition), 0U);
}

// Goal: exactly one resolution per batch however its copies race, and its node is reusable. Many threads drop copies
// while one drains.
TEST_F(AckTest, INV3_RacingHoldersResolveEachBatchOnce) {
  constexpr std::uint64_t kBatches = 20'000;
  constexpr int kThreads = 3;
  std::vector<std::vector<AckRef>> copies(kThreads);
  for (std::uint64_t i = 0; i < kBatches; ++i) {
    const AckRef ack = issuer.issue(kPartition, Offset(static_cast<std::int64_t>(i)));
    for (auto& held : copies) held.push_back(ack);
  }
  Atomic<int> running{kThreads};
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back("dropper", [&, t] {
      for (std::uint64_t i = 0; i < kBatches; ++i) {
        if (i % 3 == 0 && t == 0) copies[0][i].fail();
        copies[static_cast<std::size_t>(t)][i].reset();
      }
      running.fetch_sub(1);
    });
  }
  std::vector<Resolution> seen;
  while (running.load() != 0 || seen.size() < kBatches) queue->drain(seen);
  threads.clear();
  std::ranges::sort(seen, {}, &Resolution::seq);
  ASSERT_EQ(seen.size(), kBatches);
  for (std::uint64_t i = 0; i < kBatches; ++i) {
    ASSERT_EQ(seen[i].seq.value(), i);
    ASSERT_EQ(seen[i].status, i % 3 == 0 ? AckStatus::failed : AckStatus::delivered);
  }
}

TEST(AckQueueWaker, WakesWhenSomethingResolves) {
  auto event = std::make_shared<EventCount>();
  auto queue = AckQueue::make(Waker(event));
  std::ignore = queue->begin_epoch(std::vector{kPartition});
  AckIssuer issuer(queue);
  const auto ticket = event->ticket();
  issuer.issue(kPartition, Offset(0)).reset();
  EXPECT_NE(event->ticket(), ticket);
}

}  // namespace
}  // namespace millrace
