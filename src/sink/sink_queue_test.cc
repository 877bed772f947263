// SPDX-License-Identifier: Apache-2.0
#include "sink/sink_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "millrace/checkpoint/checkpointer.h"

namespace millrace {
namespace {

SealedBatch batch_of(std::uint32_t partition, std::uint64_t sequence, std::string_view bytes) {
  SealedBatch batch;
  batch.chunk.partition = PartitionId(partition);
  batch.chunk.records = 1;
  batch.chunk.bytes.append(bytes);
  batch.token = {LaneId(partition), sequence};
  return batch;
}

std::shared_ptr<InflightBudget> roomy() { return std::make_shared<InflightBudget>(1U << 20U); }

TEST(SinkQueue, HandsOutInOrderAndRecyclesTheBuffer) {
  SinkQueue queue({}, roomy());
  SealedBatch first = batch_of(1, 0, "first");
  SealedBatch second = batch_of(1, 1, "second");
  const char* memory = first.chunk.bytes.data();
  ASSERT_TRUE(queue.try_push(first));
  ASSERT_TRUE(queue.try_push(second));
  EXPECT_EQ(queue.depth(), 2U);
  EXPECT_EQ(queue.in_flight(PartitionId(1)), 2U);
  auto taken = queue.take(0);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->batch.chunk.bytes.view(), "first");
  EXPECT_EQ(queue.depth(), 1U);
  EXPECT_EQ(queue.in_flight(PartitionId(1)), 2U);
  queue.finish(std::move(*taken));
  EXPECT_EQ(queue.in_flight(PartitionId(1)), 1U);
  const ByteBuffer buffer = queue.take_buffer();
  EXPECT_EQ(buffer.data(), memory);
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(queue.take_buffer().capacity(), 0U);
}

TEST(SinkQueue, INV4_AFullQueueRefusesAndLeavesTheBatchWhole) {
  auto budget = std::make_shared<InflightBudget>(2000);
  SinkQueue queue({}, budget);
  SealedBatch first = batch_of(1, 0, std::string(1000, 'a'));
  SealedBatch second = batch_of(2, 0, std::string(1000, 'b'));
  ASSERT_TRUE(queue.try_push(first));
  ASSERT_FALSE(queue.try_push(second));
  EXPECT_EQ(second.chunk.bytes.size(), 1000U);
  queue.finish(*queue.take(0));
  EXPECT_EQ(budget->used(), 0U);
  EXPECT_TRUE(queue.try_push(second));
}

// A writer may turn the bytes into something shorter; the budget must come back to zero all the same.
TEST(SinkQueue, TheBudgetComesBackToZeroWhateverAWriterDoes) {
  auto budget = std::make_shared<InflightBudget>(5000);
  SinkQueue queue({}, budget);
  SealedBatch batch = batch_of(1, 0, std::string(1000, 'a'));
  ASSERT_TRUE(queue.try_push(batch));
  auto taken = queue.take(0);
  taken->batch.chunk.bytes.clear();
  taken->batch.chunk.partition = PartitionId(99);
  queue.finish(std::move(*taken));
  EXPECT_EQ(budget->used(), 0U);
  EXPECT_EQ(queue.in_flight(PartitionId(1)), 0U);
}

TEST(SinkQueue, BatchesWithoutBytesAreBoundedToo) {
  SinkQueue queue({}, std::make_shared<InflightBudget>(4096));
  int taken = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    SealedBatch batch = batch_of(1, i, "");
    taken += static_cast<int>(queue.try_push(batch));
  }
  EXPECT_EQ(taken, 8);
}

TEST(SinkQueue, AClosedQueueIsEmptiedAndThenEnds) {
  SinkQueue queue({}, roomy());
  SealedBatch batch = batch_of(1, 0, "x");
  ASSERT_TRUE(queue.try_push(batch));
  queue.close();
  SealedBatch late = batch_of(1, 1, "y");
  EXPECT_FALSE(queue.try_push(late));
  EXPECT_EQ(late.chunk.bytes.view(), "y");
  EXPECT_TRUE(queue.take(0).has_value());
  EXPECT_FALSE(queue.take(0).has_value());
}

TEST(SinkQueue, INV1_WhatIsDiscardedFailsItsBatches) {
  Checkpointer checkpointer;
  std::ignore = checkpointer.begin_epoch(std::vector{PartitionId(1)});
  auto budget = roomy();
  SinkQueue queue({}, budget);
  SealedBatch batch = batch_of(1, 0, "x");
  batch.chunk.acks.add(checkpointer.issuer().issue(PartitionId(1), Offset(5)));
  ASSERT_TRUE(queue.try_push(batch));
  EXPECT_EQ(queue.discard(), 1U);
  EXPECT_EQ(checkpointer.drain().failed, 1U);
  EXPECT_EQ(budget->used(), 0U);
  EXPECT_EQ(queue.in_flight(PartitionId(1)), 0U);
}

// Goal: in an ordered queue no worker sees another's partition and each partition comes in the order it was pushed,
// under contention. Method: two pushing threads, three workers, a small budget.
TEST(SinkQueue, OrderedKeepsEachPartitionOnOneWorkerInOrder) {
  constexpr std::uint64_t kBatches = 2000;
  auto budget = std::make_shared<InflightBudget>(8192);
  SinkQueue queue({.workers = 3, .ordered = true}, budget);
  struct Seen {
    std::uint32_t partition;
    std::uint64_t sequence;
  };
  std::array<std::vector<Seen>, 3> seen;
  std::vector<Thread> workers;
  for (std::size_t worker = 0; worker < 3; ++worker) {
    workers.emplace_back("worker", [&, worker] {
      while (auto taken = queue.take(worker)) {
        seen.at(worker).push_back({taken->partition.value(), taken->batch.token.sequence});
        queue.finish(std::move(*taken));
      }
    });
  }
  std::vector<Thread> lanes;
  for (std::uint32_t lane = 0; lane < 2; ++lane) {
    lanes.emplace_back("lane", [&, lane] {
      auto event = std::make_shared<EventCount>();
      budget->wake_when_room(Waker(event));
      for (std::uint64_t i = 0; i < kBatches; ++i) {
        SealedBatch batch = batch_of(lane * 5 + static_cast<std::uint32_t>(i % 5), i, "bytes");
        for (;;) {
          const auto ticket = event->ticket();
          if (queue.try_push(batch)) break;
          ASSERT_TRUE(event->wait_until(ticket, Clock::real(), Clock::real().now() + std::chrono::seconds(60)));
        }
      }
    });
  }
  lanes.clear();
  queue.close();
  workers.clear();
  std::array<std::uint64_t, 10> next{};
  std::array<std::size_t, 10> home{};
  home.fill(99);
  std::size_t total = 0;
  for (std::size_t worker = 0; worker < 3; ++worker) {
    for (const Seen& one : seen.at(worker)) {
      ++total;
      if (home.at(one.partition) == 99) home.at(one.partition) = worker;
      ASSERT_EQ(home.at(one.partition), worker);
      ASSERT_GE(one.sequence + 1, next.at(one.partition));
      next.at(one.partition) = one.sequence + 1;
    }
  }
  EXPECT_EQ(total, 2 * kBatches);
  EXPECT_EQ(budget->used(), 0U);
}

}  // namespace
}  // namespace millrace
