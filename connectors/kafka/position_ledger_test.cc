// SPDX-License-Identifier: Apache-2.0
// Goal: what is to be stored is what moved, no position goes back, and a partition that is refused holds up no other.
// Method: by hand, with the time given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "connectors/kafka/position_ledger.h"

namespace millrace::kafka {
namespace {

constexpr PartitionId kFirst{0};
constexpr PartitionId kSecond{1};
constexpr SteadyTime kNow{std::chrono::seconds(100)};
constexpr SteadyTime kLater{std::chrono::seconds(105)};

struct Book : PositionLedger {
  Book() {
    own(kFirst, {{"orders", 0}, Watermark(10), "m0"});
    own(kSecond, {{"orders", 1}, Watermark(20), "m1"});
  }
  void move(std::int64_t first, std::int64_t second) {
    const std::array moved{PartitionWatermark{kFirst, Watermark(first)},
                           PartitionWatermark{kSecond, Watermark(second)}};
    settle(moved);
  }
  /// "0@15/m0 1@25/m1"
  std::string due_as_text(SteadyTime now = kNow) const {
    std::string text;
    for (const StoredPosition& one : due(now)) {
      text += (text.empty() ? "" : " ") + std::to_string(one.partition.number) + "@" + std::to_string(one.at.value()) +
              "/" + one.mark;
    }
    return text;
  }
};

Error refusal() { return Error::fatal(ErrorCode::permission_denied, "not allowed"); }

TEST(KafkaPositionLedger, WhatMovedIsDueUntilItIsStored) {
  Book book;
  EXPECT_FALSE(book.anything_due(kNow));
  book.move(15, 20);
  EXPECT_EQ(book.due_as_text(), "0@15/m0");
  book.move(12, 25);  // late: what was settled stays so
  EXPECT_EQ(book.due_as_text(), "0@15/m0 1@25/m1");
  book.stored({"orders", 0}, Watermark(15));
  EXPECT_EQ(book.due_as_text(), "1@25/m1");
  EXPECT_EQ(book.stored(kFirst), Watermark(15));
  EXPECT_EQ(book.settled(kSecond), Watermark(25));
}

TEST(KafkaPositionLedger, ARefusedPartitionHoldsUpNoOther) {
  Book book;
  book.move(15, 25);
  EXPECT_TRUE(book.refused({"orders", 0}, refusal(), kLater)) << "told when it is new";
  EXPECT_FALSE(book.refused({"orders", 0}, refusal(), kLater));
  EXPECT_EQ(book.due_as_text(), "1@25/m1");
  book.stored({"orders", 1}, Watermark(25));
  book.move(16, 26);
  EXPECT_EQ(book.due_as_text(), "1@26/m1") << "the refused one waits for its time";
  EXPECT_EQ(book.due_as_text(kLater), "0@16/m0 1@26/m1");
  EXPECT_EQ(book.refusal()->message(), "not allowed");
  book.try_refused();
  EXPECT_EQ(book.due_as_text(), "0@16/m0 1@26/m1");
  book.stored({"orders", 0}, Watermark(16));
  EXPECT_FALSE(book.refusal());
}

TEST(KafkaPositionLedger, OfOthersNothingIsStored) {
  Book book;
  book.move(15, 25);
  book.refused({"orders", 0}, refusal(), kLater);
  book.disown(kFirst);
  EXPECT_FALSE(book.refusal());
  book.move(17, 27);
  book.stored({"orders", 0}, Watermark(17));
  EXPECT_FALSE(book.refused({"orders", 0}, refusal(), kLater));
  EXPECT_EQ(book.due_as_text(), "1@27/m1");
  EXPECT_FALSE(book.settled(kFirst));
}

}  // namespace
}  // namespace millrace::kafka
