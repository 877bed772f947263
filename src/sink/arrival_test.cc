// SPDX-License-Identifier: Apache-2.0
// SealPolicy::by_arrival: files are kept apart by the hour in which a batch came, whatever time its records have.
#include <gtest/gtest.h>

#include <string>

#include "millrace/testing/manual_clock.h"
#include "millrace/testing/sealed_shelf.h"

namespace millrace {
namespace {

// 2026-03-16T14:59:59Z, by date -u -d.
constexpr UnixMicros kBeforeThree = 1'773'673'199'000'000;

TEST(LaneSinkArrival, L01_AFileHoldsTheRecordsOfOneHourOfTheClock) {
  millrace::testing::ManualClock clock(kBeforeThree);
  millrace::testing::SealedShelf shelf;
  LaneSink sink({.lane = LaneId(1),
                 .partition = PartitionId(0),
                 .policy = {.boundary = SealPolicy::Boundary::hour, .by_arrival = true},
                 .clock = &clock},
                shelf);
  RecordMeta meta;
  const auto batch_of = [&](int records) {
    sink.begin_batch({});
    for (int i = 0; i < records; ++i) {
      meta.timestamp = i % 2 == 0 ? 0 : kNoTimestamp;  // neither is looked at
      if (sink.seal_before(meta)) sink.make_room();
      sink.begin_record(meta).append("x");
      sink.end_record(meta, {});
      if (sink.seal_due()) sink.seal_due_files();
      meta.offset = Offset(meta.offset.value() + 1);
    }
  };
  batch_of(2);
  clock.advance(std::chrono::milliseconds(999));
  batch_of(3);
  EXPECT_TRUE(shelf.batches.empty());
  clock.advance(std::chrono::milliseconds(1));  // three o'clock
  batch_of(4);
  clock.advance(std::chrono::minutes(59));
  batch_of(1);
  sink.seal(SealReason::lane_end);
  ASSERT_EQ(shelf.batches.size(), 2U);
  EXPECT_EQ(shelf.batches[0].chunk.records, 5U);
  EXPECT_EQ(shelf.batches[0].reason, SealReason::boundary);
  EXPECT_EQ(shelf.batches[0].chunk.opened_unix, kBeforeThree);
  EXPECT_EQ(shelf.batches[1].chunk.records, 5U);
  EXPECT_EQ(shelf.batches[1].chunk.opened_unix, kBeforeThree + 1'000'000);
}

}  // namespace
}  // namespace millrace
