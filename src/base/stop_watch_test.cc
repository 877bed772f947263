// SPDX-License-Identifier: Apache-2.0
// Goal: a wait for the outside ends when a stop is asked for, and is left alone without one. Method: stops that are
// asked for by hand.
#include "millrace/base/stop_watch.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(StopWatch, AStopEndsTheWaitOnce) {
  Atomic<bool> asked{false};
  int cancelled = 0;
  StopWatch watch("watch", [&] { return asked.load(); }, [&] { ++cancelled; });
  asked.store(true);
  EXPECT_TRUE(watch.stop().wait(Clock::real(), std::chrono::hours(1)));
  EXPECT_TRUE(watch.end());
  EXPECT_TRUE(watch.end()) << "it stays so";
  EXPECT_EQ(cancelled, 1);
}

TEST(StopWatch, BehindItsEndItLooksNoLonger) {
  Atomic<bool> asked{false};
  int cancelled = 0;
  {
    StopWatch watch("watch", [&] { return asked.load(); }, [&] { ++cancelled; });
    EXPECT_FALSE(watch.end());
    asked.store(true);
    EXPECT_FALSE(watch.end());
  }
  EXPECT_EQ(cancelled, 0);
}

TEST(StopWatch, WithoutAQuestionNoStopComes) {
  StopWatch watch("watch", {}, [] { FAIL() << "nothing was asked"; });
  EXPECT_FALSE(watch.stop().requested());
  EXPECT_FALSE(watch.end());
}

}  // namespace
}  // namespace millrace
