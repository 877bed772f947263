// SPDX-License-Identifier: Apache-2.0
// Goal: a record costs the lane's end of a sink no allocation (INV-8). Method: allocations are counted for two numbers
// of records that differ a thousandfold; both chunks start in a buffer that is large enough.
#include <gtest/gtest.h>

#include <vector>

#include "millrace/checkpoint/checkpointer.h"
#include "millrace/sink/lane_sink.h"
#include "tests/chain/allocation_count.h"

namespace millrace {
namespace {

class OneBuffer final : public SealedBatchQueue {
 public:
  bool try_push(SealedBatch& batch) override {
    const SealedBatch written = std::move(batch);
    return written.chunk.records != 0;
  }
  ByteBuffer take_buffer() override { return std::move(buffer); }
  ByteBuffer buffer{16U << 20U};
};

std::size_t allocations_for(std::int64_t records) {
  OneBuffer queue;
  Checkpointer checkpointer;
  std::ignore = checkpointer.begin_epoch(std::vector{PartitionId(1)});
  AckIssuer issuer = checkpointer.issuer();
  SealPolicy policy;
  policy.boundary = SealPolicy::Boundary::hour;
  LaneSink sink({.lane = LaneId(1), .partition = PartitionId(1), .policy = policy, .envelope = {"[", ",", "]"}}, queue);
  PayloadBatch batch;
  batch.partition = PartitionId(1);
  batch.ack = issuer.issue(PartitionId(1), Offset(records));
  const std::size_t before = allocation_count();
  sink.begin_batch(batch);
  RecordMeta meta;
  meta.timestamp = 1'700'000'000'000'000;
  for (std::int64_t i = 0; i < records; ++i) {
    meta.offset = Offset(i);
    sink.begin_record(meta).append("a record of some length");
    sink.end_record(meta, batch.ack);
  }
  sink.seal(SealReason::drain);
  return allocation_count() - before;
}

TEST(LaneSinkAllocations, INV8_ARecordCostsNone) {
  EXPECT_EQ(allocations_for(100), allocations_for(100'000));
  EXPECT_GT(allocation_count(), 0U);  // it does count
}

}  // namespace
}  // namespace millrace
