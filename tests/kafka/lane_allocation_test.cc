// SPDX-License-Identifier: Apache-2.0
// Goal: a record costs no allocation between the library's queue and the batch (INV-8). Method: calls of operator new
// on the lane's thread are counted while a warm lane is polled; their number must not grow with the records. What the
// library itself allocates is its own.
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/allocation/counted_new.h"
#include "tests/kafka/mock_cluster.h"

namespace millrace::kafka {
namespace {

TEST(KafkaLaneAllocation, INV8_ARecordCostsNone) {
  MockCluster cluster;
  for (int i = 0; i < 6000; ++i) cluster.put(0, "a payload of some length", "key", {{"name", "value"}});
  cluster.flush();
  Rig rig(cluster);
  rig.options.bounded = true;
  rig.open();
  ASSERT_TRUE(rig.assign());
  std::size_t records = 0;
  std::size_t counted_records = 0;
  std::uint64_t spent = 0;
  std::size_t batches = 0;
  while (records < 6000) {
    const std::uint64_t before = counted_new();
    auto polled = rig.lanes[0]->poll(500, Duration::zero());
    const std::uint64_t cost = counted_new() - before;
    ASSERT_TRUE(polled);
    const auto* batch = std::get_if<PayloadBatch>(&*polled);
    if (batch == nullptr) continue;
    records += batch->payloads.size();
    if (records <= 3000) continue;  // warming up: the columns grow to the size of a batch
    counted_records += batch->payloads.size();
    spent += cost;
    ++batches;
  }
  ASSERT_GT(counted_records, 1000U);
  EXPECT_LE(spent, batches * 2) << counted_records << " records in " << batches << " batches";
}

}  // namespace
}  // namespace millrace::kafka
