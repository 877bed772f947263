// SPDX-License-Identifier: Apache-2.0
// Goal: a record costs the sink no allocation. Method: batches of one size until memory has grown; then ten times the
// records of a small one allocate no more than the small one.
#include <gtest/gtest.h>

#include "connectors/iggy/outgoing.h"
#include "connectors/iggy/outgoing_fixture.h"
#include "tests/allocation/counted_new.h"

namespace millrace::iggy_sink {
namespace {

SealedBatch batch_of_size(int records) {
  std::vector<TestRecord> all;
  for (int i = 0; i < records; ++i)
    all.push_back({std::to_string(i), "k" + std::to_string(i % 20), {{"name", "value"}}});
  return batch_of(all);
}

TEST(IggyOutgoing, INV8_ARecordCostsNoAllocation) {
  IggySinkOptions options;
  options.partitioning.kind = IggyPartitioning::Kind::key;
  options.key_header = "key";
  CountingRandom random(1);
  Outgoing outgoing(options, MessageIds("line", random));
  const auto allocations = [&](const SealedBatch& batch, const std::vector<bool>& done) {
    const std::uint64_t before = counted_new();
    EXPECT_TRUE(outgoing.take(batch.chunk, batch.chunk.bytes.view(), 8, done));
    std::size_t messages = 0;
    while (const auto part = outgoing.next()) messages += part->messages.size();
    EXPECT_EQ(messages, done.size());
    return counted_new() - before;
  };
  const SealedBatch small = batch_of_size(100);
  const SealedBatch large = batch_of_size(1000);
  static_cast<void>(allocations(large, std::vector<bool>(1000)));
  const std::uint64_t of_small = allocations(small, std::vector<bool>(100));
  EXPECT_EQ(allocations(large, std::vector<bool>(1000)), of_small);
}

}  // namespace
}  // namespace millrace::iggy_sink
