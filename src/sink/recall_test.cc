// SPDX-License-Identifier: Apache-2.0
// What a lane does with what its sink recalls: leaves out what is durable, and makes once more, exactly, the file whose
// end nobody knows.
#include "millrace/sink/recall.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "millrace/checkpoint/checkpointer.h"
#include "millrace/testing/manual_clock.h"
#include "millrace/testing/sealed_shelf.h"

namespace millrace {
namespace {

constexpr PartitionId kPartition{3};
constexpr UnixMicros kHour = 3'600'000'000;
constexpr std::int64_t kNone = FileSeries::kNoTime;

struct Written {
  FileSeries series;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::string bytes;
  friend bool operator==(const Written&, const Written&) = default;
};

std::vector<Written> written_to(const testing::SealedShelf& shelf) {
  std::vector<Written> all;
  for (const SealedBatch& batch : shelf.batches) {
    all.push_back({batch.chunk.series, batch.chunk.first_offset.value(), batch.chunk.last_offset.value(),
                   std::string(batch.chunk.bytes.view())});
  }
  return all;
}

struct RecallTest : ::testing::Test {
  testing::ManualClock clock;
  testing::SealedShelf shelf;
  Checkpointer checkpointer;
  AckIssuer issuer = checkpointer.issuer();

  RecallTest() { std::ignore = checkpointer.begin_epoch(std::vector{kPartition}); }
  LaneSink make(SealPolicy policy) {
    return LaneSink(
        {.lane = LaneId(8), .partition = kPartition, .policy = std::move(policy), .clock = &clock, .recalls = true},
        shelf);
  }
  static void begin(LaneSink& sink) {
    PayloadBatch batch;
    batch.partition = kPartition;
    sink.begin_batch(batch);
  }
  static void put(LaneSink& sink, std::int64_t offset, UnixMicros time = kNoTimestamp, const AckRef& ack = {}) {
    RecordMeta meta;
    meta.partition = kPartition;
    meta.offset = Offset(offset);
    meta.timestamp = time;
    if (sink.seal_before(meta)) sink.make_room();
    sink.begin_record(meta).append(std::to_string(offset) + ";");
    sink.end_record(meta, ack);
    if (sink.seal_due()) sink.seal_due_files();
  }
  std::vector<Written> written() const { return written_to(shelf); }
};

// A broker that lost its newest records gives their offsets to others, which come later than those.
TEST_F(RecallTest, INV1_RecordsThatCameLaterAreNotLeftOutForOthers) {
  constexpr UnixMicros kThen = 1'772'539'200'000'000;  // 2026-03-03T12:00:00Z
  shelf.recall.floor = Offset(3);
  shelf.recall.unsettled = {{{FileSeries::kNoTime, ""}, Offset(3), Offset(5)}};
  shelf.recall.latest = kThen;
  shelf.recall.note = "s3://b/note.json";
  const auto came = [&](LaneSink& sink, std::int64_t first, std::vector<UnixMicros> times) {
    const std::vector<std::string_view> payloads(times.size());
    PayloadBatch batch;
    batch.partition = kPartition;
    batch.base_offset = Offset(first);
    batch.payloads = payloads;
    batch.timestamps = times;
    sink.begin_batch(batch);
    const auto refusal = sink.take_refusal();
    return refusal ? refusal->describe() : std::string();
  };
  for (const std::int64_t offset : {2, 4, 5}) {
    LaneSink sink = make({});
    const std::string said = came(sink, offset, {kThen + 60'000'000});
    EXPECT_NE(said.find("offset " + std::to_string(offset) + " of partition 3"), std::string::npos) << said;
    EXPECT_NE(said.find("2026-03-03T12:01:00"), std::string::npos) << said;
    EXPECT_NE(said.find("up to offset 5 was of 2026-03-03T12:00:00"), std::string::npos) << said;
    EXPECT_NE(said.find("remove s3://b/note.json"), std::string::npos) << said;
  }
  LaneSink behind = make({});
  EXPECT_EQ(came(behind, 5, {kThen, kThen + 60'000'000}), "") << "nothing is noted of offset 6";
  LaneSink sink = make({});
  EXPECT_EQ(came(sink, 2, {kThen - 1, kThen - 2}), "");
  put(sink, 3);
  EXPECT_NE(came(sink, 4, {kThen, kThen + 1}), "");
  sink.seal(SealReason::lane_end);
  ASSERT_EQ(shelf.batches.size(), 1U);
  EXPECT_EQ(shelf.batches[0].chunk.read_until, kThen - 1) << "what is refused was not read";
  shelf.recall.latest = kNoTimestamp;
  LaneSink unknowing = make({});
  EXPECT_EQ(came(unknowing, 2, {kThen + 60'000'000}), "") << "nothing is known of their times";
}

TEST_F(RecallTest, WhatIsDurableIsLeftOut) {
  shelf.recall.floor = Offset(2);
  shelf.recall.durable = {{{0, ""}, Offset(5)}};
  LaneSink sink = make({.boundary = SealPolicy::Boundary::hour, .max_open = 4});
  begin(sink);
  for (std::int64_t i = 0; i < 8; ++i) put(sink, i, i % 2 == 0 ? 0 : kHour);
  sink.seal(SealReason::lane_end);
  EXPECT_EQ(written(), (std::vector<Written>{{{1, ""}, 3, 7, "3;5;7;"}, {{0, ""}, 6, 6, "6;"}}));
  EXPECT_EQ(sink.take_recalled(), 4U) << "0, 1, 2, 4";
  EXPECT_EQ(sink.take_recalled(), 0U);
}

// Its ack is that of the batch, so the watermark passes it.
TEST_F(RecallTest, INV1_ARecordLeftOutHoldsNothingUp) {
  shelf.recall.floor = Offset(10);
  LaneSink sink = make({});
  begin(sink);
  AckRef ack = issuer.issue(kPartition, Offset(4));
  for (std::int64_t i = 0; i < 5; ++i) put(sink, i, kNoTimestamp, ack);
  ack.reset();
  checkpointer.drain();
  EXPECT_EQ(checkpointer.take_watermarks(), (std::vector<PartitionWatermark>{{kPartition, Watermark(5)}}));
}

// Neither a limit nor age nor want of memory nor a drain cuts it elsewhere.
TEST_F(RecallTest, AnUnsettledFileIsMadeOnceMore) {
  shelf.recall.floor = Offset(3);
  shelf.recall.unsettled = {{{kNone, ""}, Offset(3), Offset(9)}};
  LaneSink sink = make({.max_bytes = 4, .max_records = 2, .max_age = std::chrono::seconds(1)});
  begin(sink);
  for (std::int64_t i = 0; i < 7; ++i) put(sink, i);
  clock.advance(std::chrono::hours(1));
  std::ignore = sink.tick(clock.now());
  sink.seal(SealReason::pressure);
  EXPECT_TRUE(shelf.batches.empty());
  for (std::int64_t i = 7; i < 12; ++i) put(sink, i);
  EXPECT_EQ(written(), (std::vector<Written>{{{kNone, ""}, 3, 9, "3;4;5;6;7;8;9;"}, {{kNone, ""}, 10, 11, "10;11;"}}))
      << "behind it the limits hold again";
}

// A chain of now leaves out its last record, so it would never end.
TEST_F(RecallTest, AFileWhoseLastRecordDoesNotComeEndsBehindItsPlace) {
  shelf.recall.unsettled = {{{0, ""}, Offset(0), Offset(4)}};
  LaneSink sink = make({.boundary = SealPolicy::Boundary::hour, .max_open = 4});
  begin(sink);
  for (std::int64_t i = 0; i < 4; ++i) put(sink, i, 0);
  EXPECT_TRUE(shelf.batches.empty());
  put(sink, 5, kHour);
  EXPECT_EQ(written(), (std::vector<Written>{{{0, ""}, 0, 3, "0;1;2;3;"}}));
}

// A lane at its limit of pending batches asks over and over until the file that holds the watermark is whole.
TEST_F(RecallTest, WhatCannotMoveTheWatermarkIsNotEndedForIt) {
  shelf.recall.unsettled = {{{0, ""}, Offset(0), Offset(6)}};
  LaneSink sink = make({.boundary = SealPolicy::Boundary::hour, .max_open = 4});
  begin(sink);
  put(sink, 0, 0);
  put(sink, 1, kHour);
  sink.seal(SealReason::pressure);
  EXPECT_TRUE(shelf.batches.empty());
  put(sink, 6, 0);
  put(sink, 7, kHour);
  sink.seal(SealReason::pressure);
  EXPECT_EQ(written(), (std::vector<Written>{{{0, ""}, 0, 6, "0;6;"}, {{1, ""}, 1, 7, "1;7;"}}));
}

TEST_F(RecallTest, INV1_WhatMayNotEndIsPutOffByADrain) {
  for (const bool by_content : {false, true}) {
    shelf.batches.clear();
    std::ignore = checkpointer.begin_epoch(std::vector{kPartition});
    shelf.recall = {};
    if (!by_content) shelf.recall.unsettled = {{{kNone, ""}, Offset(2), Offset(9)}};
    shelf.recall.floor = Offset(2);
    LaneSink sink = make({.by_content = by_content});
    begin(sink);
    AckRef durable = issuer.issue(kPartition, Offset(1));
    put(sink, 0, kNoTimestamp, durable);
    durable.reset();
    AckRef open = issuer.issue(kPartition, Offset(5));
    for (std::int64_t i = 2; i < 6; ++i) put(sink, i, kNoTimestamp, open);
    open.reset();
    sink.seal(SealReason::drain);
    EXPECT_TRUE(shelf.batches.empty());
    EXPECT_EQ(sink.take_put_off(), 4U);
    EXPECT_EQ(checkpointer.drain().failed, 0U);
    EXPECT_EQ(checkpointer.pending(), 0U) << "nothing is waited for";
    EXPECT_FALSE(checkpointer.blocked());
    EXPECT_EQ(checkpointer.take_watermarks(), (std::vector<PartitionWatermark>{{kPartition, Watermark(2)}}))
        << "and the next run reads it again";
  }
}

TEST_F(RecallTest, ALaneThatIsNotAnsweredTakesNothing) {
  struct Silent final : SealedBatchQueue {
    bool try_push(SealedBatch& /*batch*/) override { return true; }
    ByteBuffer take_buffer() override { return {}; }
    void ask(std::shared_ptr<RecallRequest> request) override { asked.push_back(std::move(request)); }
    std::vector<std::shared_ptr<RecallRequest>> asked;
  } queue;
  LaneSink sink({.lane = LaneId(8), .partition = kPartition, .clock = &clock, .recalls = true}, queue);
  EXPECT_FALSE(sink.blocked()) << "it asks with its first batch, which says whose records come";
  begin(sink);
  EXPECT_TRUE(sink.blocked());
  EXPECT_FALSE(sink.offer());
  begin(sink);
  ASSERT_EQ(queue.asked.size(), 1U);
  queue.asked[0]->answer({});
  EXPECT_TRUE(sink.offer());
  EXPECT_FALSE(sink.blocked());
}

// Half of what one source record became must not be durable while the other half is not.
TEST_F(RecallTest, RoomIsMadeBehindAWholeSourceRecord) {
  LaneSink sink = make({.max_open = 1, .routed = true});
  begin(sink);
  RecordMeta meta;
  meta.partition = kPartition;
  for (const char* route : {"a", "b", "a"}) {
    sink.begin_record(meta, route).append("x");
    sink.end_record(meta, {});
    EXPECT_TRUE(shelf.batches.empty());
  }
  ASSERT_TRUE(sink.seal_due());
  sink.seal_due_files();
  EXPECT_EQ(sink.open_files(), 1U);
  EXPECT_EQ(written(), (std::vector<Written>{{{kNone, "b"}, 0, 0, "x"}}));
}

int hour_of(std::int64_t offset) {
  return static_cast<int>((static_cast<std::uint64_t>(offset) * 2654435761U >> 7U) % 3);
}

/// One run over the records from `from` to before `to`, with pressure behind some; what it sealed, in order.
std::vector<Written> run(const Recall& recall, const SealPolicy& policy, std::int64_t from, std::int64_t to,
                         bool to_the_end, const std::vector<std::int64_t>& pressures) {
  testing::ManualClock clock;
  testing::SealedShelf shelf;
  shelf.recall = recall;
  LaneSink sink({.lane = LaneId(1), .partition = kPartition, .policy = policy, .clock = &clock, .recalls = true},
                shelf);
  RecallTest::begin(sink);
  for (std::int64_t i = from; i < to; ++i) {
    RecallTest::put(sink, i, hour_of(i) * kHour);
    if (std::ranges::find(pressures, i) != pressures.end()) sink.seal(SealReason::pressure);
  }
  sink.seal(to_the_end ? SealReason::lane_end : SealReason::drain);
  return written_to(shelf);
}

// Goal: whatever was durable when a run died, whichever limits the next one has, and whether or not the write under way
// then lands after all, each record is in the destination once. Model: the destination is a map of files by name.
RC_GTEST_PROP(Recalls, INV1_EachRecordIsWrittenOnceWhereverARunDies, ()) {
  const auto records = *rc::gen::inRange<std::int64_t>(1, 200);
  const auto limits = [] {
    SealPolicy policy;
    policy.max_bytes = *rc::gen::inRange<std::size_t>(1, 200);
    policy.boundary = SealPolicy::Boundary::hour;
    policy.max_open = *rc::gen::inRange<std::size_t>(1, 4);
    return policy;
  };
  const auto pressures = [&] {
    return *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, records));
  };
  using Name = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  const auto name = [](const Written& file) { return Name(file.series.bucket, file.first, file.last); };
  std::map<Name, std::string> store;
  std::map<std::int64_t, std::int64_t> through;  // by hour
  std::vector<Written> in_flight;
  std::int64_t floor = 0;
  for (int deaths = *rc::gen::inRange(1, 5);; --deaths) {
    Recall recall;
    recall.floor = Offset(floor);
    for (const auto& [hour, last] : through) recall.durable.push_back({{hour, ""}, Offset(last)});
    for (const Written& file : in_flight)
      recall.unsettled.push_back({file.series, Offset(file.first), Offset(file.last)});
    const bool last_run = deaths == 0;
    const std::vector<Written> sealed =
        run(recall, limits(), floor, last_run ? records : *rc::gen::inRange<std::int64_t>(floor, records + 1), last_run,
            pressures());
    // Written in order; the run dies in the middle of the write after `durable` of them.
    const std::size_t durable = last_run ? sealed.size() : *rc::gen::inRange<std::size_t>(0, sealed.size() + 1);
    for (std::size_t i = 0; i < std::min(durable + 1, sealed.size()); ++i) {
      const Written& file = sealed[i];
      const auto same_series = [&](const Written& other) { return other.series == file.series; };
      const auto left = std::ranges::find_if(in_flight, same_series);
      if (left != in_flight.end()) RC_ASSERT(*left == file);  // the same name and the same bytes
      if (i == durable) {
        if (left == in_flight.end()) in_flight.push_back(file);
        break;
      }
      if (left != in_flight.end()) in_flight.erase(left);
      RC_ASSERT(store.emplace(name(file), file.bytes).second);
      through[file.series.bucket] = file.last;
    }
    if (last_run) break;
    // A position may be committed up to the first record that is not durable.
    std::int64_t whole = floor;
    while (whole < records && through.contains(hour_of(whole)) && whole <= through[hour_of(whole)]) ++whole;
    floor = *rc::gen::inRange<std::int64_t>(floor, whole + 1);
  }
  RC_ASSERT(in_flight.empty());
  std::map<std::string, int> seen;
  for (const auto& [key, bytes] : store) {
    for (std::size_t at = 0; at < bytes.size(); at = bytes.find(';', at) + 1)
      ++seen[bytes.substr(at, bytes.find(';', at) - at)];
  }
  RC_ASSERT(seen.size() == static_cast<std::size_t>(records));
  RC_ASSERT(std::ranges::all_of(seen, [](const auto& one) { return one.second == 1; }));
}

// Where blocks end is told by records alone: not by why the file ended the first time, and not by its footer. Every
// last record around the end of a block.
TEST(RecallOfPackedFiles, AFileIsMadeAgainByteForByte) {
  const SealPolicy policy{.max_bytes = 0, .compression = {Codec::gzip, 0}};
  const auto write = [&](millrace::testing::SealedShelf& shelf, bool recalls, int records) {
    LaneSink sink({.lane = LaneId(1), .policy = policy, .envelope = {"[", ",", "]"}, .recalls = recalls}, shelf);
    PayloadBatch batch;
    sink.begin_batch(batch);
    for (int i = 0; i < records; ++i) {
      RecordMeta meta;
      meta.offset = Offset(i);
      // The last source record of a file is two records; a block may end between them.
      for (int part = 0; part < 2; ++part) {
        sink.begin_record(meta).append(std::string(4096, static_cast<char>('a' + (i + part) % 26)));
        sink.end_record(meta, {});
      }
      if (sink.seal_due()) sink.seal_due_files();
    }
    sink.seal(SealReason::age);
  };
  for (int last = 60; last < 68; ++last) {
    millrace::testing::SealedShelf first;
    write(first, false, last + 1);
    ASSERT_EQ(first.batches.size(), 1U);
    millrace::testing::SealedShelf again;
    again.recall.unsettled = {{{}, Offset(0), Offset(last)}};
    write(again, true, last + 10);
    ASSERT_EQ(again.batches.size(), 2U);
    EXPECT_TRUE(*again.batches[0].body() == *first.batches[0].body()) << "ends with record " << last;
  }
}

}  // namespace
}  // namespace millrace
