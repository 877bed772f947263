// SPDX-License-Identifier: Apache-2.0
// SealPolicy::uncounted: where a file ends by its records alone, whatever stands between them. Each boundary is counted
// by hand.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "millrace/testing/sealed_shelf.h"

namespace millrace {
namespace {

struct CountedSizeTest : ::testing::Test {
  /// How many records each file holds, of records of these sizes.
  std::vector<std::uint64_t> files(SealPolicy policy, const Envelope& envelope, const std::string& ending,
                                   const std::vector<std::size_t>& sizes) {
    LaneSink sink({.lane = LaneId(1), .partition = PartitionId(0), .policy = std::move(policy), .envelope = envelope},
                  shelf);
    RecordMeta meta;
    for (const std::size_t size : sizes) {
      sink.begin_record(meta).append(std::string(size, 'x') + ending);
      sink.end_record(meta, {});
      if (sink.seal_due()) sink.seal_due_files();
      meta.offset = Offset(meta.offset.value() + 1);
    }
    sink.seal(SealReason::lane_end);
    std::vector<std::uint64_t> records;
    for (const SealedBatch& batch : shelf.batches) records.push_back(batch.chunk.records);
    return records;
  }
  millrace::testing::SealedShelf shelf;
};

// 4 + 3 + 3 are the first to make ten; with their newlines 4 + 1 + 3 + 1 + 3 + 1 are thirteen.
TEST_F(CountedSizeTest, NewlinesAreNoPartOfTheSize) {
  EXPECT_EQ(files({.max_bytes = 10, .uncounted = 1}, {}, "\n", {4, 3, 3, 9, 1, 10, 2}),
            (std::vector<std::uint64_t>{3, 2, 1, 1}));
}

TEST_F(CountedSizeTest, NorAreBracketsAndCommas) {
  EXPECT_EQ(files({.max_bytes = 10, .uncounted = 1}, {"[", ",", "]"}, "", {4, 3, 3, 9, 1, 10, 2}),
            (std::vector<std::uint64_t>{3, 2, 1, 1}));
  EXPECT_EQ(shelf.batches[0].chunk.bytes.view(), "[xxxx,xxx,xxx]");
  EXPECT_EQ(shelf.batches[0].reason, SealReason::size);
}

TEST_F(CountedSizeTest, OtherwiseEveryByteCounts) {
  EXPECT_EQ(files({.max_bytes = 10}, {}, "\n", {4, 3, 3, 9, 1, 10, 2}), (std::vector<std::uint64_t>{3, 1, 2, 1}));
}

// A record of one byte each: half of the bytes are newlines.
TEST_F(CountedSizeTest, ManySmallRecords) {
  EXPECT_EQ(files({.max_bytes = 1000, .uncounted = 1}, {}, "\n", std::vector<std::size_t>(2500, 1)),
            (std::vector<std::uint64_t>{1000, 1000, 500}));
}

TEST_F(CountedSizeTest, PackedFilesToo) {
  // 700,000 records of one byte are 1.4 million encoded bytes in three blocks.
  EXPECT_EQ(files({.max_bytes = 700'000, .uncounted = 1, .compression = {Codec::zstd, 0}}, {}, "\n",
                  std::vector<std::size_t>(1'500'000, 1)),
            (std::vector<std::uint64_t>{700'000, 700'000, 100'000}));
}

}  // namespace
}  // namespace millrace
