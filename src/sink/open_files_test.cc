// SPDX-License-Identifier: Apache-2.0
// Open files that are packed as they grow, share a bound of memory, and spill. What comes out is compared with what
// went in, read by zlib and by hand.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "codec/zlib_reference.h"
#include "millrace/testing/sealed_shelf.h"
#include "sink/scratch_folder.h"

namespace millrace {
namespace {

constexpr UnixMicros kHour = 3'600'000'000;

std::string body_of(SealedBatch& batch) {
  const auto body = batch.body();
  EXPECT_TRUE(body) << (body ? "" : body.error().message());
  EXPECT_EQ(body->size(), batch.size());
  return std::string(*body);
}

using sink_test::ScratchFolder;

struct OpenFilesTest : ::testing::Test {
  millrace::testing::SealedShelf shelf;
  std::int64_t next = 0;

  [[nodiscard]] LaneSink make(SealPolicy policy, std::shared_ptr<OpenBudget> budget = nullptr, Envelope envelope = {}) {
    return LaneSink({.lane = LaneId(1),
                     .partition = PartitionId(0),
                     .policy = std::move(policy),
                     .envelope = std::move(envelope),
                     .budget = std::move(budget)},
                    shelf);
  }
  void put(LaneSink& sink, std::string_view bytes, UnixMicros time = kNoTimestamp) {
    RecordMeta meta;
    meta.offset = Offset(next++);
    meta.timestamp = time;
    sink.begin_record(meta).append(bytes);
    sink.end_record(meta, {});
    if (sink.seal_due()) sink.seal_due_files();
  }
};

TEST_F(OpenFilesTest, APackedFileIsWhatWasEncoded) {
  LaneSink sink = make({.max_bytes = 3U << 20U, .compression = {Codec::gzip, 0}}, nullptr, {"[", ",", "]"});
  std::string expected = "[";
  int records = 0;
  while (shelf.batches.empty()) {
    const std::string record = "{\"n\":" + std::to_string(records * 7919) + "}";
    expected += (records++ == 0 ? "" : ",") + record;
    put(sink, record);
  }
  expected += "]";
  EXPECT_EQ(shelf.batches[0].reason, SealReason::size);
  EXPECT_GE(expected.size(), 3U << 20U) << "the limit counts bytes as they were encoded";
  EXPECT_LT(expected.size(), (3U << 20U) + 100);
  EXPECT_LT(shelf.batches[0].size(), expected.size() / 2);
  EXPECT_TRUE(codec::zlib_decoded(body_of(shelf.batches[0])).bytes == expected);
}

TEST_F(OpenFilesTest, TheSameRecordsMakeTheSameBytes) {
  for (int run = 0; run < 2; ++run) {
    LaneSink sink = make({.max_bytes = 0, .compression = {Codec::zstd, 0}});
    next = 0;
    for (int i = 0; i < 100'000; ++i) {
      put(sink, "a record like many others, number " + std::to_string(i) + "\n");
      if (run == 1 && i % 1000 == 0) std::ignore = sink.tick(SteadyTime());  // when it is looked at plays no part
    }
    sink.seal(SealReason::lane_end);
  }
  ASSERT_EQ(shelf.batches.size(), 2U);
  EXPECT_TRUE(body_of(shelf.batches[0]) == body_of(shelf.batches[1]));
}

TEST_F(OpenFilesTest, INV7_WhatHasNoRoomSpillsAndComesBackWhole) {
  const ScratchFolder folder;
  const auto spool = Spool::open(folder.path(), 0);
  ASSERT_TRUE(spool);
  const auto budget = std::make_shared<OpenBudget>(64U << 10U, *spool);
  {
    LaneSink sink = make({.max_bytes = 1U << 20U}, budget, {"<", "|", ">"});
    std::string expected = "<";
    for (int i = 0; shelf.batches.empty(); ++i) {
      const std::string record(1000, static_cast<char>('a' + i % 26));
      expected += (i == 0 ? "" : "|") + record;
      put(sink, record);
      std::ignore = sink.tick(SteadyTime());
      EXPECT_LE(budget->used(), 64U << 10U);
    }
    expected += ">";
    EXPECT_GT(shelf.batches[0].spilled->size(), 900'000U);
    EXPECT_EQ((*spool)->used(), shelf.batches[0].spilled->size());
    EXPECT_TRUE(folder.empty()) << "nothing is left behind whatever ends the process";
    EXPECT_TRUE(body_of(shelf.batches[0]) == expected);
    EXPECT_TRUE(body_of(shelf.batches[0]) == expected) << "the same for each try";
  }
  shelf.batches.clear();
  EXPECT_EQ((*spool)->used(), 0U);
  EXPECT_EQ(budget->used(), 0U);
}

TEST_F(OpenFilesTest, INV7_WithoutASpoolTheLargestFileIsSealed) {
  const auto budget = std::make_shared<OpenBudget>(32U << 10U, nullptr);
  LaneSink sink = make({.max_bytes = 0, .boundary = SealPolicy::Boundary::hour, .max_open = 8}, budget);
  put(sink, "small", 0);
  for (int i = 0; shelf.batches.empty(); ++i) {
    ASSERT_LT(i, 100);
    put(sink, std::string(1000, 'x'), kHour);
    std::ignore = sink.tick(SteadyTime());
  }
  EXPECT_EQ(shelf.batches[0].reason, SealReason::pressure);
  EXPECT_EQ(shelf.batches[0].chunk.first_timestamp, kHour);
  EXPECT_EQ(sink.open_files(), 1U);
  EXPECT_LE(budget->used(), 32U << 10U);
}

TEST_F(OpenFilesTest, K16_AFullSpoolSealsAndIsUsedAgainWhenThereIsRoom) {
  const ScratchFolder folder;
  const auto spool = Spool::open(folder.path(), 40'000);
  ASSERT_TRUE(spool);
  const auto budget = std::make_shared<OpenBudget>(16U << 10U, *spool);
  LaneSink sink = make({.max_bytes = 0}, budget);
  std::string expected;
  const auto fill = [&] {
    for (int i = 0; shelf.batches.empty(); ++i) {
      ASSERT_LT(i, 1000);
      put(sink, std::string(1000, 'y'));
      expected.append(1000, 'y');
      std::ignore = sink.tick(SteadyTime());
    }
  };
  fill();
  EXPECT_EQ(shelf.batches[0].reason, SealReason::pressure);
  EXPECT_LE((*spool)->used(), 40'000U);
  // A spool that is full does not keep what it holds from being written.
  EXPECT_TRUE(body_of(shelf.batches[0]) == expected);
  EXPECT_TRUE(body_of(shelf.batches[0]) == expected) << "on each try";
  shelf.batches.clear();
  EXPECT_EQ((*spool)->used(), 0U);
  expected.clear();
  fill();
  EXPECT_TRUE(body_of(shelf.batches[0]) == expected);
}

// A replay makes the same file elsewhere, with more memory or less, and has to find its own bytes there.
TEST_F(OpenFilesTest, WhereMemoryEndedLeavesNoTraceInTheBytes) {
  const ScratchFolder folder;
  const auto spool = Spool::open(folder.path(), 0);
  ASSERT_TRUE(spool);
  for (const Codec codec : {Codec::none, Codec::gzip, Codec::zstd}) {
    const auto budget = std::make_shared<OpenBudget>(std::size_t{1} << 20U, *spool);
    std::vector<std::string> bodies;
    std::uint64_t spilled = 0;
    for (const bool tight : {false, true}) {
      shelf.batches.clear();
      LaneSink sink = make({.max_bytes = 0, .compression = {codec, 0}}, tight ? budget : nullptr);
      std::uint64_t noise = 1;
      for (int i = 0; i < 3000; ++i) {
        std::string line;
        while (line.size() < 1000) line += std::to_string(noise = noise * 6364136223846793005U + 1442695040888963407U);
        put(sink, line);
        std::ignore = sink.tick(SteadyTime());
        spilled = std::max(spilled, (*spool)->used());
      }
      sink.seal(SealReason::drain);
      ASSERT_EQ(shelf.batches.size(), 1U) << to_string(codec);
      bodies.push_back(body_of(shelf.batches[0]));
    }
    EXPECT_TRUE(bodies[0] == bodies[1]) << to_string(codec);
    EXPECT_GT(spilled, 0U);
  }
}

// A buffer of a large file that was written counts as a whole: it would seal the next one behind its first record.
TEST_F(OpenFilesTest, INV7_ALargeUsedBufferDoesNotUseUpTheShare) {
  shelf.recycled.append(std::string(std::size_t{8} << 20U, 'x'));
  const auto budget = std::make_shared<OpenBudget>(std::size_t{1} << 20U, nullptr);
  LaneSink sink = make({.max_bytes = 0}, budget);
  for (int i = 0; i < 100; ++i) {
    put(sink, "a record");
    std::ignore = sink.tick(SteadyTime());
  }
  EXPECT_TRUE(shelf.batches.empty());
  EXPECT_EQ(sink.open_files(), 1U);
  EXPECT_LE(budget->used(), std::size_t{64} << 10U);
}

/// A queue that is full until it is told otherwise.
struct FullQueue final : SealedBatchQueue {
  bool full = true;
  bool try_push(SealedBatch& batch) override {
    if (full) return false;
    const SealedBatch taken = std::move(batch);
    return true;
  }
  ByteBuffer take_buffer() override { return {}; }
};

// A file that is sealed and waits for room is memory of the lane still, so the others may not fill its place.
TEST(OpenFiles, INV7_WhatIsSealedAndNotTakenCounts) {
  const auto budget = std::make_shared<OpenBudget>(std::size_t{1} << 20U, nullptr);
  FullQueue queue;
  LaneSink sink({.lane = LaneId(1), .policy = {.max_bytes = 0, .max_age = std::chrono::seconds(1)}, .budget = budget},
                queue);
  RecordMeta meta;
  sink.begin_record(meta).append(std::string(100'000, 'x'));
  sink.end_record(meta, {});
  std::ignore = sink.tick(SteadyTime());
  EXPECT_GE(budget->used(), 100'000U);
  std::ignore = sink.tick(Clock::real().now() + std::chrono::hours(1));
  EXPECT_EQ(sink.open_files(), 0U);
  std::ignore = sink.tick(SteadyTime());
  EXPECT_GE(budget->used(), 100'000U);
  queue.full = false;
  EXPECT_TRUE(sink.offer());
  std::ignore = sink.tick(SteadyTime());
  EXPECT_LT(budget->used(), 100'000U);
}

// The buffer of a file that was ended is no reason to end another.
TEST_F(OpenFilesTest, INV7_PressureEndsNoMoreFilesThanItHasTo) {
  const auto budget = std::make_shared<OpenBudget>(std::size_t{2} << 20U, nullptr);
  LaneSink sink = make(
      {.max_bytes = 0, .boundary = SealPolicy::Boundary::hour, .max_open = 8, .compression = {Codec::gzip, 0}}, budget);
  for (int i = 0; i < 100'000 && shelf.batches.empty(); ++i) {
    put(sink, std::string(1000, 'x'), i % 8 * kHour);
    std::ignore = sink.tick(SteadyTime());
  }
  EXPECT_EQ(shelf.batches.size(), 1U);
  EXPECT_EQ(sink.open_files(), 7U);
}

TEST(Spool, AFolderThatCannotBeWrittenIsRefusedAtOnce) {
  const auto spool = Spool::open("/nowhere/at/all", 0);
  ASSERT_FALSE(spool);
  EXPECT_EQ(spool.error().code(), ErrorCode::config);
  EXPECT_NE(spool.error().message().find("'/nowhere/at/all'"), std::string::npos);
}

// The end lies in memory behind what is mapped, wherever pages begin.
TEST(Spool, AFileIsReadAsOneWithItsEnd) {
  const ScratchFolder folder;
  const auto spool = Spool::open(folder.path(), 0);
  ASSERT_TRUE(spool);
  for (const std::size_t on_disk : {0U, 1U, 4095U, 4096U, 4097U, 65536U, 100'000U, 196'608U, 300'001U}) {
    for (const std::size_t behind : {0U, 1U, 5000U}) {
      const auto file = (*spool)->create();
      const std::string beginning(on_disk, 'a');
      const std::string end(behind, 'z');
      ASSERT_TRUE(file->append(beginning));
      const auto all = file->map(end);
      ASSERT_TRUE(all) << all.error().message();
      EXPECT_TRUE(*all == beginning + end) << on_disk << " and " << behind;
      EXPECT_EQ(file->size(), on_disk + behind);
      EXPECT_EQ(file->map("")->data(), all->data()) << "once and for all";
    }
  }
  EXPECT_EQ((*spool)->used(), 0U);
}

TEST(OpenBudget, INV7_OnlyWhoHoldsMoreThanItsShareYields) {
  OpenBudget budget(1000, nullptr);
  const auto event = std::make_shared<EventCount>();
  budget.wake_when_over(Waker(event));
  for (int i = 0; i < 4; ++i) budget.join();
  budget.change(0, 900);
  EXPECT_FALSE(budget.must_yield(900)) << "there is room for all";
  const auto ticket = event->ticket();
  budget.change(0, 101);
  EXPECT_FALSE(ticket == event->ticket()) << "the others are woken";
  EXPECT_TRUE(budget.must_yield(900));
  EXPECT_FALSE(budget.must_yield(101));
  budget.change(900, 100);
  EXPECT_FALSE(budget.must_yield(900));
  EXPECT_EQ(budget.used(), 201U);
}

// Property: whatever the limits, files and moments at which memory is short, each hour's records come out in order and
// whole, once each.
RC_GTEST_PROP(OpenFiles, INV6_EveryRecordComesOutOnceWhateverIsSpilledOrPacked, ()) {
  const ScratchFolder folder;
  const bool packed = *rc::gen::arbitrary<bool>();
  std::shared_ptr<Spool> spool;
  if (*rc::gen::arbitrary<bool>()) spool = *Spool::open(folder.path(), *rc::gen::element<std::uint64_t>(0, 3000));
  const auto budget = std::make_shared<OpenBudget>(*rc::gen::inRange<std::size_t>(1, 20'000), spool);
  SealPolicy policy{.max_bytes = *rc::gen::element<std::size_t>(0, 2000),
                    .max_records = *rc::gen::element<std::uint64_t>(0, 30),
                    .boundary = SealPolicy::Boundary::hour,
                    .max_open = *rc::gen::inRange<std::size_t>(1, 4)};
  if (packed) policy.compression = {Codec::gzip, 1};
  millrace::testing::SealedShelf shelf;
  std::map<std::int64_t, std::string> expected;
  {
    LaneSink sink({.lane = LaneId(1), .policy = policy, .envelope = {"", "", ""}, .budget = budget}, shelf);
    std::int64_t next = 0;
    for (const auto& [hour, size] : *rc::gen::container<std::vector<std::pair<int, int>>>(
             rc::gen::pair(rc::gen::inRange(0, 5), rc::gen::inRange(0, 400)))) {
      RecordMeta meta;
      meta.offset = Offset(next++);
      meta.timestamp = hour * kHour + 5;
      const std::string record = std::to_string(next) + std::string(static_cast<std::size_t>(size), '.') + "\n";
      sink.begin_record(meta).append(record);
      sink.end_record(meta, {});
      expected[hour] += record;
      if (sink.seal_due()) sink.seal_due_files();
      if (*rc::gen::arbitrary<bool>()) std::ignore = sink.tick(SteadyTime());
    }
    sink.seal(SealReason::lane_end);
  }
  RC_ASSERT(budget->used() == 0U);
  std::map<std::int64_t, std::string> got;
  for (SealedBatch& batch : shelf.batches) {
    auto body = batch.body();
    if (!body) {  // the spool is full: with what was spilled gone first there is room
      RC_ASSERT(body.error().code() == ErrorCode::out_of_space);
      RC_DISCARD("the spool is full to the end");
    }
    got[batch.chunk.first_timestamp / kHour] +=
        packed ? codec::zlib_decoded(std::string(*body)).bytes : std::string(*body);
  }
  RC_ASSERT(got == expected);
}

}  // namespace
}  // namespace millrace
