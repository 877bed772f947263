// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/sync.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include "millrace/base/time.h"

namespace millrace {
namespace {

// Goal: no wake-up is lost. One thread hands the other a token a great many times over two event counts; a lost signal
// would hang until the generous deadline and fail.
TEST(EventCount, NoWakeUpIsLost) {
  auto ping = std::make_shared<EventCount>();
  auto pong = std::make_shared<EventCount>();
  Atomic<int> token{0};
  constexpr int kRounds = 20'000;
  const auto wait_for = [&](EventCount& event, int value) {
    const SteadyTime deadline = Clock::real().now() + std::chrono::seconds(60);
    for (;;) {
      const auto ticket = event.ticket();
      if (token.load(memory_order_acquire) == value) return true;
      if (!event.wait_until(ticket, Clock::real(), deadline)) return false;
    }
  };
  bool other_ok = true;
  Thread other("pong", [&] {
    for (int i = 0; i < kRounds && other_ok; ++i) {
      other_ok = wait_for(*ping, 2 * i + 1);
      token.store(2 * i + 2, memory_order_release);
      Waker(pong).wake();
    }
  });
  bool ok = true;
  for (int i = 0; i < kRounds && ok; ++i) {
    token.store(2 * i + 1, memory_order_release);
    Waker(ping).wake();
    ok = wait_for(*pong, 2 * i + 2);
  }
  other.join();
  EXPECT_TRUE(ok && other_ok);
}

TEST(EventCount, ASignalBeforeTheSleepIsSeen) {
  EventCount event;
  const auto ticket = event.ticket();
  event.signal();
  EXPECT_TRUE(event.wait_until(ticket, Clock::real(), Clock::real().now() + std::chrono::seconds(30)));
}

TEST(EventCount, TheDeadlineEndsTheSleep) {
  EventCount event;
  EXPECT_FALSE(event.wait_until(event.ticket(), Clock::real(), Clock::real().now() + std::chrono::milliseconds(1)));
}

// Whoever starts several threads must not be left with half of them, waiting for ever.
TEST(ThreadDeathTest, AThreadThatTheSystemRefusesEndsTheProcess) {
  const auto refused = [] {
    pthread_attr_t beyond_memory;
    pthread_attr_init(&beyond_memory);
    pthread_attr_setstacksize(&beyond_memory, std::size_t{1} << 47U);
    pthread_setattr_default_np(&beyond_memory);
    const Thread thread("file-read", [] {});
  };
  EXPECT_EXIT(refused(), ::testing::ExitedWithCode(1), "refuses the thread 'file-read'.*ulimit -u");
}

}  // namespace
}  // namespace millrace
