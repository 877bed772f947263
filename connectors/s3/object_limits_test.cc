// SPDX-License-Identifier: Apache-2.0
// Sizes and times that leave objects out.
#include "connectors/s3/object_limits.h"

#include <gtest/gtest.h>

namespace millrace::s3_source {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kNoon = 1'782'907'200 * kSecond;  // 2026-07-01T12:00:00Z

bool accepts(const ObjectLimits& limits, std::uint64_t size, UnixMicros time = kNoon) {
  const auto accepted = limits.accept({.key = "in/a", .size = size, .last_modified = time});
  EXPECT_TRUE(accepted) << accepted.error().message();
  return accepted.value_or(false);
}

TEST(ObjectLimits, SizesTakeTheirEnds) {
  EXPECT_TRUE(accepts({}, 0));
  const ObjectLimits both{.min_size = 10, .max_size = 20};
  EXPECT_FALSE(accepts(both, 9));
  EXPECT_TRUE(accepts(both, 10));
  EXPECT_TRUE(accepts(both, 20));
  EXPECT_FALSE(accepts(both, 21));
  EXPECT_FALSE(accepts({.min_size = 1}, 0)) << "no marker, no empty object";
  EXPECT_TRUE(accepts({.max_size = 0}, 0));
}

TEST(ObjectLimits, ATimeBelongsToTheRangeThatBeginsWithIt) {
  const ObjectLimits before{.modified_before = kNoon};
  const ObjectLimits after{.modified_after = kNoon};
  for (const std::int64_t time : {kNoon - 1, kNoon, kNoon + 1}) {
    EXPECT_EQ(accepts(before, 1, time), time < kNoon);
    EXPECT_EQ(accepts(after, 1, time), time >= kNoon);
  }
}

TEST(ObjectLimits, AnObjectWithoutATimeIsNotGuessedAt) {
  const auto guess = ObjectLimits{.modified_before = kNoon}.accept({.key = "in/a b", .size = 1});
  ASSERT_FALSE(guess);
  EXPECT_TRUE(guess.error().is_fatal());
  EXPECT_NE(guess.error().message().find("'in/a b'"), std::string::npos) << guess.error().message();
  EXPECT_TRUE(accepts({.min_size = 1}, 1, kNoTimestamp));
}

}  // namespace
}  // namespace millrace::s3_source
