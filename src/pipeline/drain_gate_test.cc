// SPDX-License-Identifier: Apache-2.0
#include "pipeline/drain_gate.h"

#include <gtest/gtest.h>

#include "millrace/testing/manual_clock.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct DrainGateTest : ::testing::Test {
  testing::ManualClock clock;
  DrainGate gate{clock};
  bool answer = false;

  Thread wait(Duration delay, bool asked = false) {
    return {"waiter", [this, delay, asked] { answer = gate.wait(delay, asked); }};
  }
};

TEST_F(DrainGateTest, WaitsOutTheDelayWhileTheRunGoesOn) {
  Thread waiter = wait(seconds(10));
  clock.wait_for_sleepers(1);
  clock.advance(seconds(9));
  clock.wait_for_sleepers(1);  // still there
  clock.advance(seconds(1));
  waiter.join();
  EXPECT_TRUE(answer);
  EXPECT_EQ(gate.deadline(), SteadyTime::max());
}

TEST_F(DrainGateTest, TheBeginOfADrainEndsAWait) {
  Thread waiter = wait(std::chrono::hours(1));
  clock.wait_for_sleepers(1);
  gate.begin_drain(clock.now() + seconds(10));
  waiter.join();
  EXPECT_TRUE(answer);
}

TEST_F(DrainGateTest, InADrainHalfOfTheTimeLeftGoesByAtMost) {
  gate.begin_drain(clock.now() + seconds(10));
  Thread waiter = wait(std::chrono::hours(1));
  clock.wait_for_sleepers(1);
  clock.advance(seconds(5));
  waiter.join();
  EXPECT_TRUE(answer);
}

TEST_F(DrainGateTest, AnAskedDelayIsNotShortenedAndEndsAtTheDeadline) {
  gate.begin_drain(clock.now() + seconds(10));
  Thread waiter = wait(seconds(9), true);
  clock.wait_for_sleepers(1);
  clock.advance(milliseconds(8999));
  clock.wait_for_sleepers(1);
  clock.advance(milliseconds(1));
  waiter.join();
  EXPECT_TRUE(answer);
  Thread late = wait(seconds(2), true);
  clock.wait_for_sleepers(1);
  clock.advance(seconds(1));
  late.join();
  EXPECT_FALSE(answer);
}

TEST_F(DrainGateTest, TriesEndAtTheDeadline) {
  gate.begin_drain(clock.now() + seconds(10));
  int tries = 0;
  Thread waiter("waiter", [this, &tries] {
    while (gate.wait(seconds(60), false)) ++tries;
  });
  const SteadyTime end = clock.now() + seconds(10);
  while (clock.now() < end) {
    clock.wait_for_sleepers(1);
    clock.advance(milliseconds(10));
  }
  waiter.join();
  EXPECT_GE(tries, 5);
  EXPECT_LE(tries, 20);
}

TEST_F(DrainGateTest, GivingUpEndsAWaitAndAllThatFollow) {
  Thread waiter = wait(std::chrono::hours(1));
  clock.wait_for_sleepers(1);
  gate.give_up();
  waiter.join();
  EXPECT_FALSE(answer);
  EXPECT_FALSE(gate.wait(Duration(1), false));
  EXPECT_TRUE(gate.given_up());
}

}  // namespace
}  // namespace millrace
