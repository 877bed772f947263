// SPDX-License-Identifier: Apache-2.0
// Ledger: what is settled is given out once, in the order of its offsets.
#include "millrace/ack/ledger.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr PartitionId kPartition{3};

RecordAccount account(std::int64_t first, std::int64_t last) {
  const auto records = static_cast<std::uint64_t>(last - first + 1);
  return {Offset(first), Offset(last), {.in = records, .out = records}};
}

TEST(RecordFates, AddUpByReason) {
  RecordFates one{.in = 5, .out = 2, .filtered = 1, .skipped = {{ErrorCode::malformed, 2}}, .encoded = 4};
  const RecordFates two{.in = 3, .skipped = {{ErrorCode::wrong_type, 1}, {ErrorCode::malformed, 2}}};
  one += two;
  const RecordFates sum{.in = 8,
                        .out = 2,
                        .filtered = 1,
                        .skipped = {{ErrorCode::malformed, 4}, {ErrorCode::wrong_type, 1}},
                        .encoded = 4};
  EXPECT_EQ(one, sum);
}

TEST(Ledger, GivesOutWhatEndsBeforeTheWatermarkOnce) {
  Ledger ledger;
  ledger.add(kPartition, account(0, 9));
  ledger.add(kPartition, account(10, 14));
  ledger.add(kPartition, account(15, 19));
  // Written out of order; the second chunk reaches into what is not settled yet.
  ledger.land(kPartition, {.first = Offset(15), .last = Offset(19), .records = 5, .sink = "sink", .location = "c"});
  ledger.land(kPartition, {.first = Offset(8), .last = Offset(16), .records = 9, .sink = "sink", .location = "b"});
  ledger.land(kPartition, {.first = Offset(0), .last = Offset(7), .records = 8, .sink = "sink", .location = "a"});

  EXPECT_TRUE(ledger.take(kPartition, Watermark(0)).accounts.empty());
  const auto settled = ledger.take(kPartition, Watermark(15));
  ASSERT_EQ(settled.accounts.size(), 2U);
  EXPECT_EQ(settled.accounts[0].last, Offset(9));
  EXPECT_EQ(settled.accounts[1].first, Offset(10));
  ASSERT_EQ(settled.landings.size(), 2U);
  EXPECT_EQ(settled.landings[0].location, "b");
  EXPECT_EQ(settled.landings[1].location, "a");
  const auto rest = ledger.take(kPartition, Watermark(20));
  ASSERT_EQ(rest.accounts.size(), 1U);
  EXPECT_EQ(rest.accounts[0].first, Offset(15));
  ASSERT_EQ(rest.landings.size(), 1U);
  EXPECT_EQ(rest.landings[0].location, "c");
  EXPECT_TRUE(ledger.take(kPartition, Watermark(20)).accounts.empty());
}

TEST(Ledger, APartitionThatIsReadAgainBeginsAnew) {
  Ledger ledger;
  ledger.add(kPartition, account(0, 9));
  ledger.add(PartitionId(4), account(0, 9));
  ledger.forget(kPartition);
  ledger.forget(PartitionId(77));
  EXPECT_TRUE(ledger.take(kPartition, Watermark(10)).accounts.empty());
  EXPECT_EQ(ledger.take(PartitionId(4), Watermark(10)).accounts.size(), 1U);
}

}  // namespace
}  // namespace millrace
