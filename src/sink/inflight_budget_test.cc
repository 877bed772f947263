// SPDX-License-Identifier: Apache-2.0
#include "sink/inflight_budget.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <deque>

namespace millrace {
namespace {

constexpr InflightBudget::Claimant kOne{LaneId(1), nullptr};
constexpr InflightBudget::Claimant kTwo{LaneId(2), nullptr};
constexpr InflightBudget::Claimant kThree{LaneId(3), nullptr};

TEST(InflightBudget, INV7_TakesUpToTheLimit) {
  InflightBudget budget(100);
  EXPECT_TRUE(budget.try_take(60, kOne));
  EXPECT_FALSE(budget.try_take(41, kTwo));
  EXPECT_EQ(budget.used(), 60U);
  EXPECT_EQ(budget.refusals(), 1U);
}

TEST(InflightBudget, ABatchLargerThanAllIsTakenAlone) {
  InflightBudget budget(100);
  EXPECT_TRUE(budget.try_take(1, kOne));
  EXPECT_FALSE(budget.try_take(500, kTwo));
  budget.give_back(1, nullptr);
  EXPECT_TRUE(budget.try_take(500, kTwo));
  EXPECT_FALSE(budget.try_take(1, kOne));
  budget.give_back(500, nullptr);
  EXPECT_EQ(budget.used(), 0U);
}

TEST(InflightBudget, SmallBatchesDoNotStarveALargeOne) {
  InflightBudget budget(100);
  EXPECT_TRUE(budget.try_take(50, kOne));
  EXPECT_FALSE(budget.try_take(90, kTwo));
  // 40 would fit, were it not for the claim.
  EXPECT_FALSE(budget.try_take(40, kThree));
  // With the claim's 90, 10 more fit only once the 50 are gone.
  budget.give_back(50, nullptr);
  EXPECT_TRUE(budget.try_take(10, kThree));
  EXPECT_TRUE(budget.try_take(90, kTwo));
}

TEST(InflightBudget, AWithdrawnClaimKeepsNoRoom) {
  InflightBudget budget(100);
  EXPECT_TRUE(budget.try_take(50, kOne));
  EXPECT_FALSE(budget.try_take(90, kTwo));
  EXPECT_FALSE(budget.try_take(40, kThree));
  budget.withdraw(kThree);  // not the claimant: changes nothing
  EXPECT_FALSE(budget.try_take(40, kThree));
  budget.withdraw(kTwo);
  EXPECT_TRUE(budget.try_take(40, kThree));
}

// What a sink that hangs holds is no reason for another to stand still.
TEST(InflightBudget, ASinkWithNothingInFlightTakesABatchWhateverTheOthersHold) {
  const int slow = 0;
  const int fast = 0;
  InflightBudget budget(100);
  EXPECT_TRUE(budget.try_take(100, {LaneId(1), &slow}));
  EXPECT_FALSE(budget.try_take(50, {LaneId(1), &slow}));  // and claims room
  EXPECT_TRUE(budget.try_take(30, {LaneId(2), &fast}));
  EXPECT_FALSE(budget.try_take(1, {LaneId(2), &fast}));
  EXPECT_EQ(budget.used(), 130U);
  budget.give_back(30, &fast);
  EXPECT_TRUE(budget.try_take(200, {LaneId(2), &fast}));
  // The claim is served as soon as its own sink has nothing in flight, however busy the other is.
  budget.give_back(100, &slow);
  EXPECT_FALSE(budget.try_take(1, {LaneId(3), &slow}));
  EXPECT_TRUE(budget.try_take(50, {LaneId(1), &slow}));
}

TEST(InflightBudget, WakesTheRefusedWhenRoomAppears) {
  auto event = std::make_shared<EventCount>();
  InflightBudget budget(100);
  budget.wake_when_room(Waker(event));
  EXPECT_TRUE(budget.try_take(80, kOne));
  const auto before = event->ticket();
  EXPECT_TRUE(budget.try_take(20, kOne));
  budget.give_back(20, nullptr);
  EXPECT_EQ(event->ticket(), before);  // nobody was refused
  EXPECT_FALSE(budget.try_take(50, kTwo));
  EXPECT_FALSE(budget.try_take(10, kThree));
  budget.give_back(80, nullptr);
  EXPECT_NE(event->ticket(), before);
  const auto after_room = event->ticket();
  EXPECT_FALSE(budget.try_take(60, kThree));
  EXPECT_TRUE(budget.try_take(50, kTwo));
  EXPECT_NE(event->ticket(), after_room);  // the claim is served: the other may fit now
}

// Goal: never above the limit but for one batch of each sink; every lane's batch is taken in the end, whatever the
// sizes and the order. Method: lanes of two sinks offer their next batch round after round while batches are given back
// oldest first.
TEST(InflightBudget, INV7_BoundedAndEverybodyProgresses) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& sizes) {
    InflightBudget budget(100);
    constexpr std::uint32_t kLanes = 4;
    const std::array<int, 2> sinks{};
    const auto sink_of = [&](std::uint32_t lane) { return &sinks.at(lane % 2); };
    struct Batch {
      std::size_t bytes = 0;
      const int* sink = nullptr;
    };
    std::array<std::deque<std::size_t>, kLanes> offers;
    for (std::size_t i = 0; i < sizes.size(); ++i) offers.at(i % kLanes).push_back(1U + sizes[i]);
    std::deque<Batch> in_flight;
    std::size_t left = sizes.size();
    for (std::size_t round = 0; left != 0; ++round) {
      RC_ASSERT(round < 10 * sizes.size() + 10);
      for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
        auto& mine = offers.at(lane);
        if (mine.empty() || !budget.try_take(mine.front(), {LaneId(lane), sink_of(lane)})) continue;
        in_flight.push_back({mine.front(), sink_of(lane)});
        mine.pop_front();
        --left;
        std::size_t of_sinks = 0;
        for (const int& sink : sinks) {
          std::size_t largest = 0;
          for (const Batch& batch : in_flight) largest = batch.sink == &sink ? std::max(largest, batch.bytes) : largest;
          of_sinks += largest;
        }
        RC_ASSERT(budget.used() <= 100 + of_sinks);
      }
      if (!in_flight.empty()) {
        budget.give_back(in_flight.front().bytes, in_flight.front().sink);
        in_flight.pop_front();
      }
    }
    for (const Batch& batch : in_flight) budget.give_back(batch.bytes, batch.sink);
    RC_ASSERT(budget.used() == 0U);
  }));
}

}  // namespace
}  // namespace millrace
