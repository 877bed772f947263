// SPDX-License-Identifier: Apache-2.0
// Sizes and times that leave objects out, and how a time is written. Expected seconds are Python's datetime's.
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

TEST(Rfc3339, IsReadWithItsOffset) {
  for (const auto& [text, time] : {std::pair<const char*, std::int64_t>{"2026-07-01T12:00:00Z", kNoon},
                                   {"2026-07-01t12:00:00z", kNoon},
                                   {"2026-07-01 12:00:00Z", kNoon},
                                   {"2026-07-01T14:00:00+02:00", kNoon},
                                   {"2026-07-01T06:30:00-05:30", kNoon},
                                   {"2026-07-01T12:00:00.5Z", kNoon + 500'000},
                                   {"2026-07-01T12:00:00.000001+00:00", kNoon + 1},
                                   {"2024-02-29T23:30:00-05:30", 1'709'269'200 * kSecond},
                                   {"1970-01-01T00:00:00-00:00", 0},
                                   {"1969-12-31T23:59:59Z", -kSecond}}) {
    const auto read = parse_rfc3339(text);
    ASSERT_TRUE(read) << text << ": " << read.error().message();
    EXPECT_EQ(*read, time) << text;
  }
}

TEST(Rfc3339, AnythingElseIsRefusedByName) {
  for (const char* text : {"",
                           "yesterday",
                           "2026-07-01",
                           "2026-07-01T12:00:00",
                           "2026-07-01T12:00Z",
                           "2026-7-1T12:00:00Z",
                           "2026-02-29T12:00:00Z",
                           "2026-13-01T12:00:00Z",
                           "2026-07-01T24:00:00Z",
                           "2026-07-01T12:60:00Z",
                           "2026-07-01T12:00:60Z",
                           "2026-07-01T12:00:00.Z",
                           "2026-07-01T12:00:00.0000001Z",
                           "2026-07-01T12:00:00+2:00",
                           "2026-07-01T12:00:00+0200",
                           "2026-07-01T12:00:00+24:00",
                           "2026-07-01T12:00:00+02:60",
                           "2026-07-01T12:00:00+02",
                           "2026-07-01T12:00:00ZZ",
                           "2026-07-01T12:00:00Z ",
                           " 2026-07-01T12:00:00Z",
                           "2026-07-01X12:00:00Z",
                           "1782907200"}) {
    const auto read = parse_rfc3339(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().message().find(std::string("'") + text), std::string::npos) << read.error().message();
  }
}

}  // namespace
}  // namespace millrace::s3_source
