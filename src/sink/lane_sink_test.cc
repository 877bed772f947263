// SPDX-License-Identifier: Apache-2.0
#include "millrace/sink/lane_sink.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "millrace/checkpoint/checkpointer.h"

namespace millrace {
namespace {

constexpr PartitionId kPartition{3};
constexpr UnixMicros kHour = 3'600'000'000;

class FakeClock final : public Clock {
 public:
  SteadyTime now() const override { return time; }
  UnixMicros unix_micros() const override { return 1'000'000 + time.time_since_epoch().count() / 1000; }
  void wait_until(CondVar& /*condition*/, Mutex& /*mutex*/, SteadyTime /*deadline*/) override {}
  SteadyTime time{std::chrono::hours(1)};
};

// Takes what it has room for and remembers the order.
class FakeQueue final : public SealedBatchQueue {
 public:
  bool try_push(SealedBatch& batch) override {
    if (room == 0) return false;
    --room;
    batches.push_back(std::move(batch));
    return true;
  }
  ByteBuffer take_buffer() override { return std::move(recycled); }
  void withdraw(LaneId lane) override { withdrawn.push_back(lane); }
  std::string text(std::size_t index) const { return std::string(batches.at(index).chunk.bytes.view()); }

  std::size_t room = 1000;
  ByteBuffer recycled;
  std::vector<SealedBatch> batches;
  std::vector<LaneId> withdrawn;
};

std::shared_ptr<const Origin> object(std::string key) {
  auto origin = std::make_shared<Origin>();
  origin->bucket = "b";
  origin->object = std::move(key);
  return origin;
}

struct LaneSinkTest : testing::Test {
  FakeClock clock;
  FakeQueue queue;
  Checkpointer checkpointer;
  AckIssuer issuer = checkpointer.issuer();
  std::int64_t next = 0;

  LaneSinkTest() { std::ignore = checkpointer.begin_epoch(std::vector{kPartition}); }
  LaneSink make(SealPolicy policy, Envelope envelope = {}) {
    return LaneSink({.lane = LaneId(8),
                     .partition = kPartition,
                     .policy = policy,
                     .envelope = envelope,
                     .first_sequence = 100,
                     .clock = &clock},
                    queue);
  }
  void begin(LaneSink& sink, const std::shared_ptr<const Origin>& origin = nullptr) {
    PayloadBatch batch;
    batch.partition = kPartition;
    batch.origin = origin;
    sink.begin_batch(batch);
  }
  RecordMeta meta(UnixMicros timestamp = kNoTimestamp) {
    RecordMeta meta;
    meta.partition = kPartition;
    meta.offset = Offset(next++);
    meta.timestamp = timestamp;
    return meta;
  }
  void put(LaneSink& sink, std::string_view bytes, const AckRef& ack, UnixMicros timestamp = kNoTimestamp) {
    const RecordMeta coordinates = meta(timestamp);
    sink.begin_record(coordinates).append(bytes);
    sink.end_record(coordinates, ack);
    if (sink.seal_due()) sink.seal_due_files();
  }
  std::uint64_t settled() {
    checkpointer.drain();
    const auto moved = checkpointer.take_watermarks();
    return moved.empty() ? 0 : static_cast<std::uint64_t>(moved[0].watermark.value());
  }
};

TEST_F(LaneSinkTest, AnEnvelopeFramesTheRecords) {
  LaneSink sink = make({.max_bytes = 0, .max_records = 3}, {"[", ",", "]"});
  begin(sink);
  for (const char* text : {"1", "2", "3", "4"}) put(sink, text, {});
  sink.seal(SealReason::lane_end);
  ASSERT_EQ(queue.batches.size(), 2U);
  EXPECT_EQ(queue.text(0), "[1,2,3]");
  EXPECT_EQ(queue.text(1), "[4]");
  EXPECT_EQ(queue.batches[0].reason, SealReason::records);
  EXPECT_EQ(queue.batches[1].reason, SealReason::lane_end);
  EXPECT_EQ(queue.batches[0].chunk.first_offset, Offset(0));
  EXPECT_EQ(queue.batches[0].chunk.last_offset, Offset(2));
  EXPECT_EQ(queue.batches[0].token, (IdempotencyToken{LaneId(8), 100}));
  EXPECT_EQ(queue.batches[1].token, (IdempotencyToken{LaneId(8), 101}));
}

TEST_F(LaneSinkTest, SizeSealsAfterTheRecordThatReachesIt) {
  LaneSink sink = make({.max_bytes = 4});
  begin(sink);
  for (const char* text : {"aa", "bbbbb", "c"}) put(sink, text, {});
  ASSERT_EQ(queue.batches.size(), 1U);
  EXPECT_EQ(queue.text(0), "aabbbbb");
  EXPECT_EQ(queue.batches[0].reason, SealReason::size);
  EXPECT_EQ(sink.open_files(), 1U);
}

TEST_F(LaneSinkTest, ARolledBackRecordLeavesNothing) {
  LaneSink sink = make({}, {"[", ",", "]"});
  begin(sink);
  sink.begin_record(meta()).append("half");
  sink.rollback_record();
  put(sink, "1", {});
  sink.begin_record(meta()).append("half");
  sink.rollback_record();
  put(sink, "2", {});
  sink.seal(SealReason::drain);
  EXPECT_EQ(queue.text(0), "[1,2]");
  EXPECT_EQ(queue.batches[0].chunk.first_offset, Offset(1));
}

// A chain whose code threw in the middle of a record leaves a begun one behind.
TEST_F(LaneSinkTest, ABegunRecordIsNoPartOfASealedChunk) {
  LaneSink sink = make({}, {"[", ",", "]"});
  begin(sink);
  put(sink, "1", {});
  sink.begin_record(meta()).append("half");
  sink.begin_record(meta()).append("half");
  sink.seal(SealReason::drain);
  EXPECT_EQ(queue.text(0), "[1]");
}

// K18: no object for nothing, also when a record was begun and taken back.
TEST_F(LaneSinkTest, K18_AnEmptyChunkIsNeverSealed) {
  LaneSink sink = make({.max_bytes = 1}, {"[", ",", "]"});
  begin(sink);
  sink.seal(SealReason::drain);
  sink.begin_record(meta()).append("half");
  sink.rollback_record();
  if (sink.seal_due()) sink.seal_due_files();
  EXPECT_EQ(sink.tick(SteadyTime::max()), SteadyTime::max());
  EXPECT_TRUE(queue.batches.empty());
  EXPECT_FALSE(sink.blocked());
}

TEST_F(LaneSinkTest, INV4_WhatIsRefusedStaysInOrderAndIsOfferedAgain) {
  LaneSink sink = make({.max_records = 1});
  begin(sink);
  queue.room = 1;
  for (const char* text : {"a", "b", "c"}) put(sink, text, {});
  EXPECT_TRUE(sink.blocked());
  queue.room = 1;
  EXPECT_FALSE(sink.offer());
  queue.room = 1;
  EXPECT_TRUE(sink.offer());
  EXPECT_FALSE(sink.blocked());
  ASSERT_EQ(queue.batches.size(), 3U);
  EXPECT_EQ(queue.text(0) + queue.text(1) + queue.text(2), "abc");
}

TEST_F(LaneSinkTest, AChunkTakesOneReferenceOfEachBatch) {
  LaneSink sink = make({});
  AckRef first = issuer.issue(kPartition, Offset(9));
  begin(sink);
  for (int i = 0; i < 10; ++i) put(sink, "x", first);
  const AckRef second = issuer.issue(kPartition, Offset(19));
  begin(sink);
  for (int i = 0; i < 10; ++i) put(sink, "x", second);
  ASSERT_NE(sink.oldest_open(), nullptr);
  EXPECT_TRUE(sink.oldest_open()->same_batch(first));
  sink.seal(SealReason::drain);
  EXPECT_EQ(sink.oldest_open(), nullptr);
  EXPECT_EQ(queue.batches.at(0).chunk.acks.size(), 2U);
}

TEST_F(LaneSinkTest, INV1_OnlyADeliveredChunkMovesTheWatermark) {
  LaneSink sink = make({.max_records = 1});
  AckRef ack = issuer.issue(kPartition, Offset(0));
  begin(sink);
  put(sink, "x", ack);
  ack.reset();
  EXPECT_EQ(settled(), 0U);
  queue.batches[0].chunk.acks.deliver();
  EXPECT_EQ(settled(), 1U);
}

TEST_F(LaneSinkTest, INV1_AbandonedChunksFailTheirBatches) {
  AckRef sealed = issuer.issue(kPartition, Offset(0));
  AckRef open = issuer.issue(kPartition, Offset(1));
  {
    LaneSink sink = make({.max_records = 2});
    begin(sink);
    queue.room = 0;
    put(sink, "a", sealed);
    put(sink, "b", sealed);
    put(sink, "c", open);
    sealed.reset();
    open.reset();
    sink.abandon();
    EXPECT_FALSE(sink.blocked());
    EXPECT_EQ(sink.open_files(), 0U);
    EXPECT_EQ(queue.withdrawn, std::vector{LaneId(8)});
  }
  const auto drained = checkpointer.drain();
  EXPECT_EQ(drained.failed, 2U);
  EXPECT_TRUE(checkpointer.blocked(kPartition));
}

// K11: the age counts from the first record of the chunk, not from the last and not from the start of the lane.
TEST_F(LaneSinkTest, K11_AgeCountsFromTheFirstRecord) {
  LaneSink sink = make({.max_age = std::chrono::seconds(10)});
  begin(sink);
  put(sink, "a", {});
  const SteadyTime due = clock.time + std::chrono::seconds(10);
  clock.time += std::chrono::seconds(6);
  begin(sink);
  put(sink, "b", {});
  EXPECT_EQ(sink.tick(clock.time), due);
  clock.time = due - Duration(1);
  EXPECT_EQ(sink.tick(clock.time), due);
  EXPECT_TRUE(queue.batches.empty());
  clock.time = due;
  EXPECT_EQ(sink.tick(clock.time), SteadyTime::max());
  ASSERT_EQ(queue.batches.size(), 1U);
  EXPECT_EQ(queue.text(0), "ab");
  EXPECT_EQ(queue.batches[0].reason, SealReason::age);
}

TEST_F(LaneSinkTest, IdleCountsFromTheLastRecord) {
  LaneSink sink = make({.max_age = std::chrono::hours(1), .max_idle = std::chrono::seconds(5)});
  begin(sink);
  put(sink, "a", {});
  clock.time += std::chrono::seconds(4);
  begin(sink);
  put(sink, "b", {});
  const SteadyTime due = clock.time + std::chrono::seconds(5);
  // It may ask to be called earlier, but seals nothing then.
  EXPECT_LE(sink.tick(clock.time), due);
  clock.time = due - Duration(1);
  EXPECT_EQ(sink.tick(clock.time), due);
  EXPECT_TRUE(queue.batches.empty());
  clock.time = due;
  std::ignore = sink.tick(clock.time);
  ASSERT_EQ(queue.batches.size(), 1U);
  EXPECT_EQ(queue.batches[0].reason, SealReason::idle);
}

// Goal: no chunk holds two hours, also before 1970, and records without a time have chunks of their own. Expected cuts
// by hand.
TEST_F(LaneSinkTest, AChunkNeverSpansABoundary) {
  LaneSink sink = make({.boundary = SealPolicy::Boundary::hour});
  begin(sink);
  put(sink, "a", {}, -kHour);
  put(sink, "b", {}, -1);
  put(sink, "c", {}, 0);
  put(sink, "d", {}, kNoTimestamp);
  put(sink, "e", {}, kHour - 1);
  RecordMeta later = meta(kHour);
  EXPECT_TRUE(sink.seal_before(later));
  put(sink, "f", {}, kHour);
  sink.seal(SealReason::drain);
  ASSERT_EQ(queue.batches.size(), 5U);
  EXPECT_EQ(queue.text(0), "ab");
  EXPECT_EQ(queue.text(1), "c");
  EXPECT_EQ(queue.text(2), "d");
  EXPECT_EQ(queue.text(3), "e");
  EXPECT_EQ(queue.text(4), "f");
  EXPECT_EQ(queue.batches[0].reason, SealReason::boundary);
}

// Event times that interleave make a file for each hour, not one for each change of the hour.
TEST_F(LaneSinkTest, K07_InterleavedHoursMakeAFileEach) {
  LaneSink sink = make({.boundary = SealPolicy::Boundary::hour, .max_open = 2});
  begin(sink);
  for (int i = 0; i < 500; ++i) {
    put(sink, "a", {}, 11 * kHour - 1);
    put(sink, "b", {}, 11 * kHour);
  }
  EXPECT_EQ(sink.open_files(), 2U);
  EXPECT_EQ(sink.open_bytes(), 1000U);
  sink.seal(SealReason::drain);
  ASSERT_EQ(queue.batches.size(), 2U);
  EXPECT_EQ(queue.text(0), std::string(500, 'a'));
  EXPECT_EQ(queue.text(1), std::string(500, 'b'));
  EXPECT_EQ(queue.batches[0].chunk.first_offset, Offset(0));
  EXPECT_EQ(queue.batches[0].chunk.last_offset, Offset(998));
  EXPECT_EQ(queue.batches[1].chunk.first_offset, Offset(1));
  EXPECT_EQ(queue.batches[1].chunk.last_offset, Offset(999));
}

TEST_F(LaneSinkTest, K07_TheFileNotUsedForLongestMakesRoom) {
  LaneSink sink = make({.boundary = SealPolicy::Boundary::hour, .max_open = 2});
  begin(sink);
  put(sink, "a", {}, 0);
  put(sink, "b", {}, kHour);
  put(sink, "a", {}, 1);
  RecordMeta third = meta(2 * kHour);
  EXPECT_TRUE(sink.seal_before(third));
  EXPECT_FALSE(sink.seal_before(meta(kHour + 1)));
  put(sink, "c", {}, 2 * kHour);
  ASSERT_EQ(queue.batches.size(), 1U);
  EXPECT_EQ(queue.text(0), "b");
  EXPECT_EQ(queue.batches[0].reason, SealReason::pressure);
  put(sink, "b", {}, kHour);  // late: a file of its own
  EXPECT_EQ(queue.text(1), "aa");
  sink.seal(SealReason::drain);
  EXPECT_EQ(queue.text(2) + queue.text(3), "cb");
}

TEST_F(LaneSinkTest, EachOpenFileHasItsOwnLimitsAndAge) {
  LaneSink sink = make(
      {.max_records = 3, .max_age = std::chrono::seconds(10), .boundary = SealPolicy::Boundary::hour, .max_open = 4});
  begin(sink);
  put(sink, "a", {}, 0);
  put(sink, "b", {}, kHour);
  put(sink, "a", {}, 0);
  clock.time += std::chrono::seconds(4);
  begin(sink);
  put(sink, "c", {}, 2 * kHour);
  put(sink, "a", {}, 0);
  ASSERT_EQ(queue.batches.size(), 1U);
  EXPECT_EQ(queue.text(0), "aaa");
  EXPECT_EQ(queue.batches[0].reason, SealReason::records);
  clock.time += std::chrono::seconds(6);
  EXPECT_EQ(sink.tick(clock.time), clock.time + std::chrono::seconds(4));
  ASSERT_EQ(queue.batches.size(), 2U);
  EXPECT_EQ(queue.text(1), "b");
  EXPECT_EQ(queue.batches[1].reason, SealReason::age);
  EXPECT_EQ(sink.open_files(), 1U);
}

TEST_F(LaneSinkTest, INV1_TheOldestBatchIsThatOfTheFileOpenedFirst) {
  LaneSink sink = make({.boundary = SealPolicy::Boundary::hour, .max_open = 2});
  AckRef first = issuer.issue(kPartition, Offset(1));
  AckRef second = issuer.issue(kPartition, Offset(3));
  begin(sink);
  put(sink, "a", first, 0);
  put(sink, "b", first, kHour);
  begin(sink);
  put(sink, "b", second, kHour);
  ASSERT_NE(sink.oldest_open(), nullptr);
  EXPECT_TRUE(sink.oldest_open()->same_batch(first));
  first.reset();
  second.reset();
  sink.seal(SealReason::drain);
  ASSERT_EQ(queue.batches.size(), 2U);
  queue.batches[1].chunk.acks.deliver();
  EXPECT_EQ(settled(), 0U) << "the first batch has a record in the other file";
  queue.batches[0].chunk.acks.deliver();
  EXPECT_EQ(settled(), 4U);
}

TEST_F(LaneSinkTest, PerObjectNeverMixesTwoObjects) {
  LaneSink sink = make({.per_object = true});
  const auto first = object("one");
  const auto again = object("one");
  const auto second = object("two");
  begin(sink, first);
  put(sink, "a", {});
  begin(sink, again);
  put(sink, "b", {});
  begin(sink, second);
  put(sink, "c", {});
  sink.seal(SealReason::drain);
  ASSERT_EQ(queue.batches.size(), 2U);
  EXPECT_EQ(queue.text(0), "ab");
  EXPECT_EQ(queue.batches[0].chunk.origin, first);
  EXPECT_EQ(queue.text(1), "c");
  EXPECT_EQ(queue.batches[1].chunk.origin, second);
}

TEST_F(LaneSinkTest, INV7_AChunkStartsInARecycledBuffer) {
  ByteBuffer used(4096);
  used.append("left over");
  const char* memory = used.data();
  queue.recycled = std::move(used);
  LaneSink sink = make({});
  begin(sink);
  put(sink, "x", {});
  sink.seal(SealReason::drain);
  EXPECT_EQ(queue.batches.at(0).chunk.bytes.data(), memory);
  EXPECT_EQ(queue.text(0), "x");
}

}  // namespace
}  // namespace millrace
