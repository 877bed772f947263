// SPDX-License-Identifier: Apache-2.0
#include "testing/simulation/scheduler.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::testing {
namespace {

TEST(Scheduler, TimeMovesOnlyWhenNothingElseCan) {
  SeededRandom random(1);
  Scheduler scheduler(random);
  const SteadyTime begun = scheduler.now();
  std::string order;
  const std::string stuck = scheduler.run([&] {
    auto late = scheduler.start("late", [&] {
      scheduler.let_pass(std::chrono::hours(2));
      order += 'c';
    });
    auto early = scheduler.start("early", [&] {
      scheduler.let_pass(std::chrono::seconds(1));
      order += 'b';
    });
    for (int i = 0; i < 100; ++i) scheduler.step();
    EXPECT_EQ(scheduler.now(), begun);
    order += 'a';
    late->join();
    early->join();
  });
  EXPECT_EQ(stuck, "");
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(scheduler.now() - begun, std::chrono::hours(2));
}

TEST(Scheduler, ASignalEndsAWait) {
  SeededRandom random(1);
  Scheduler scheduler(random);
  const SteadyTime begun = scheduler.now();
  EventCount event;
  const std::string stuck = scheduler.run([&] {
    const EventCount::Ticket ticket = event.ticket();
    auto waker = scheduler.start("waker", [&] { event.signal(); });
    EXPECT_TRUE(event.wait_until(ticket, scheduler, begun + std::chrono::hours(1)));
    waker->join();
  });
  EXPECT_EQ(stuck, "");
  EXPECT_EQ(scheduler.now(), begun);
}

TEST(Scheduler, TheSeedDecidesWhoGoesOn) {
  const auto order_of = [](std::uint64_t seed) {
    SeededRandom random(seed);
    Scheduler scheduler(random);
    std::string order;
    EXPECT_EQ(scheduler.run([&] {
      auto a = scheduler.start("a", [&] {
        for (int i = 0; i < 8; ++i, scheduler.step()) order += 'a';
      });
      auto b = scheduler.start("b", [&] {
        for (int i = 0; i < 8; ++i, scheduler.step()) order += 'b';
      });
      a->join();
      b->join();
    }),
              "");
    return order;
  };
  EXPECT_EQ(order_of(3), order_of(3));
  EXPECT_NE(order_of(3), order_of(4));
}

}  // namespace
}  // namespace millrace::testing
