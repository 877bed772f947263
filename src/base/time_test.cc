// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/time.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "millrace/base/backoff.h"

namespace millrace {
namespace {

class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override { return state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL; }

 private:
  std::uint64_t state_;
};

// Expected values: `date -u -d @N --iso-8601=seconds`.
TEST(Rfc3339, MatchesDate) {
  EXPECT_EQ(to_rfc3339(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(to_rfc3339(1'783'339'200'000'000), "2026-07-06T12:00:00Z");
  EXPECT_EQ(to_rfc3339(-1, 6), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(to_rfc3339(1'735'601'400'123'456, 3), "2024-12-30T23:30:00.123Z");
  EXPECT_EQ(to_rfc3339(1'735'601'400'123'456, 9), "2024-12-30T23:30:00.123456000Z");
}

// H01: never zero, never above the cap, whatever the options; a Retry-After is honoured even when it is longer.
TEST(Backoff, H01_DelayIsPositiveAndCapped) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed, std::int64_t initial, std::int64_t cap, double multiplier) {
    SeededRandom random(seed);
    Backoff backoff({Duration(initial), Duration(cap), multiplier}, random);
    for (int i = 0; i < 50; ++i) {
      const Duration delay = backoff.next();
      RC_ASSERT(delay.count() > 0);
      RC_ASSERT(delay.count() <= std::max<std::int64_t>(cap, 1));
    }
    RC_ASSERT(backoff.next(std::chrono::hours(1)) >= std::chrono::hours(1));
  }));
}

}  // namespace
}  // namespace millrace
