// SPDX-License-Identifier: Apache-2.0
// Goal: a record costs no allocation between the store and the batch (INV-8). Method: count calls of operator new on
// the lane's thread while one object is polled through a warm lane, with few and with many records; the number must not
// grow with the records.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "connectors/s3/source_fixture.h"
#include "tests/allocation/counted_new.h"

namespace millrace::s3_source {
namespace {

struct Cost {
  std::uint64_t records = 0;
  std::uint64_t allocations = 0;
};

/// Polls one warm lane through objects of `lines` records; the first two objects are not counted.
Cost cost_of(int lines, std::size_t batch) {
  auto memory = std::make_shared<testing::MemoryStore>();
  std::string text;
  for (int i = 0; i < lines; ++i) text += fmt::format("{{\"n\":{}}}\n", i);
  for (int i = 0; i < 4; ++i) memory->set(fmt::format("in/{}", i), text);
  BackfillRig rig(memory);
  rig.options.lanes = 1;
  EXPECT_TRUE(rig.open());
  Cost cost;
  std::string object;
  int objects = 0;
  while (true) {
    const std::uint64_t before = counted_new();
    auto polled = rig.lanes[0]->poll(batch, std::chrono::seconds(20));
    const std::uint64_t spent = counted_new() - before;
    if (!polled || std::holds_alternative<Exhausted>(*polled)) break;
    const auto* got = std::get_if<PayloadBatch>(&*polled);
    if (got == nullptr) continue;
    if (got->origin && got->origin->object != object) {
      object = got->origin->object;
      ++objects;
    }
    if (objects <= 2) continue;
    cost.records += got->payloads.size();
    cost.allocations += spent;
  }
  rig.lanes.clear();
  return cost;
}

TEST(LaneAllocation, INV8_ARecordCostsNone) {
  for (const std::size_t batch : {100UL, 4096UL}) {
    const Cost few = cost_of(1'000, batch);
    const Cost many = cost_of(100'000, batch);
    EXPECT_EQ(few.records, 2'000U);
    EXPECT_EQ(many.records, 200'000U);
    // A handful for each object (its origin, its pieces); nothing for a record, nothing for a batch.
    EXPECT_LE(few.allocations, 30U);
    EXPECT_LE(many.allocations, 60U) << "an allocation for each of 200,000 records, or of 2,000 batches?";
  }
}

}  // namespace
}  // namespace millrace::s3_source
