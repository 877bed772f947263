// SPDX-License-Identifier: Apache-2.0
#include "millrace/testing/manual_clock.h"

#include <gtest/gtest.h>

#include <vector>

#include "millrace/testing/seeded_random.h"

namespace millrace::testing {
namespace {

TEST(ManualClock, MovesOnlyWhenTold) {
  ManualClock clock(1'000'000);
  const SteadyTime before = clock.now();
  EXPECT_EQ(clock.now(), before);
  clock.advance(std::chrono::seconds(5));
  EXPECT_EQ(clock.now() - before, std::chrono::seconds(5));
  EXPECT_EQ(clock.unix_micros(), 6'000'000);
}

TEST(ManualClock, AWaitEndsAtItsDeadlineAndNotBefore) {
  ManualClock clock;
  EventCount event;
  const SteadyTime deadline = clock.now() + std::chrono::seconds(10);
  Atomic<bool> ended{false};
  bool signalled = true;
  Thread sleeper("sleeper", [&] {
    signalled = event.wait_until(event.ticket(), clock, deadline);
    ended.store(true);
  });
  clock.wait_for_sleepers(1);
  clock.advance(std::chrono::seconds(9));
  clock.wait_for_sleepers(1);
  EXPECT_FALSE(ended.load());
  clock.advance(std::chrono::seconds(1));
  sleeper.join();
  EXPECT_FALSE(signalled);
}

// Goal: an advance that falls between a sleeper's look at the time and its sleep still wakes it. Method: many short
// sleeps against many advances; a lost one would hang.
TEST(ManualClock, NoAdvanceIsLost) {
  ManualClock clock;
  constexpr int kRounds = 3000;
  Atomic<int> running{3};
  std::vector<Thread> sleepers;
  for (int i = 0; i < 3; ++i) {
    sleepers.emplace_back("sleeper", [&] {
      for (int round = 0; round < kRounds; ++round) {
        EventCount event;  // gone right after its wait: an advance must not touch it then
        event.wait_until(event.ticket(), clock, clock.now() + std::chrono::nanoseconds(1));
      }
      running.fetch_sub(1);
    });
  }
  while (running.load() != 0) clock.advance(std::chrono::nanoseconds(1));
  sleepers.clear();
}

// Expected values: the reference implementation of SplitMix64 for seed 1234567.
TEST(SeededRandom, IsSplitMix64) {
  SeededRandom random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317ULL);
  EXPECT_EQ(random.next(), 3203168211198807973ULL);
  EXPECT_EQ(random.next(), 9817491932198370423ULL);
}

}  // namespace
}  // namespace millrace::testing
