// SPDX-License-Identifier: Apache-2.0
// Baton: no two threads at once, and no event left behind; a plain counter that only the holder touches tells.
#include "connectors/s3/baton.h"

#include <gtest/gtest.h>

#include <vector>

namespace millrace::s3_source {
namespace {

TEST(Baton, OneThreadAtATimeAndNoEventIsLeftBehind) {
  constexpr int kThreads = 4;
  constexpr int kEvents = 20'000;
  Baton baton;
  Atomic<std::uint64_t> brought{0};
  std::uint64_t taken = 0;  // unprotected but for the baton; ThreadSanitizer looks on
  int inside = 0;
  {
    std::vector<Thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back("bringer", [&] {
        for (int i = 0; i < kEvents; ++i) {
          brought.fetch_add(1);
          baton.run([&] {
            EXPECT_EQ(++inside, 1);
            taken += brought.exchange(0);
            --inside;
          });
        }
      });
    }
  }
  EXPECT_EQ(taken, std::uint64_t{kThreads} * kEvents);
}

TEST(Baton, FromWithinItOnlyAsksForAnotherRun) {
  Baton baton;
  int runs = 0;
  bool nested = false;
  const auto work = [&](const auto& self) -> void {
    baton.run([&] {
      EXPECT_FALSE(nested) << "the second run begins when the first is over";
      nested = true;
      if (++runs == 1) self(self);
      nested = false;
    });
  };
  work(work);
  EXPECT_EQ(runs, 2);
}

}  // namespace
}  // namespace millrace::s3_source
