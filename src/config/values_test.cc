// SPDX-License-Identifier: Apache-2.0
// Sizes and durations: every spelling of the reference, the limits of 64 bits, and what is no value.
#include "millrace/config/values.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <string>

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(ByteSize, ReadsEveryUnit) {
  const std::pair<const char*, std::uint64_t> cases[] = {
      {"0", 0},
      {"8388608", 8388608},
      {"8MiB", 8388608},
      {"8MB", 8000000},
      {"512KiB", 524288},
      {"1kB", 1000},
      {"1KB", 1000},
      {"3GiB", 3221225472},
      {"2GB", 2000000000},
      {"1TiB", 1099511627776},
      {"1TB", 1000000000000},
      {"7B", 7},
      {"18446744073709551615", std::numeric_limits<std::uint64_t>::max()},
      {"16777215TiB", 18446742974197923840U},
  };
  for (const auto& [text, bytes] : cases) {
    const auto size = parse_byte_size(text);
    ASSERT_TRUE(size) << text << ": " << size.error().message();
    EXPECT_EQ(size->bytes, bytes) << text;
  }
}

TEST(ByteSize, RefusesWhatIsNoSize) {
  for (const char* text : {"", "MiB", "-1", "+1", "8 MiB", " 8", "8mib", "8Mib", "8M", "8K", "1.5GiB", "0x10", "1e6",
                           "8MiBx", "8388608 "}) {
    const auto size = parse_byte_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error().code(), ErrorCode::config);
    EXPECT_NE(size.error().message().find("is no size"), std::string::npos) << size.error().message();
  }
}

TEST(ByteSize, RefusesMoreThanSixtyFourBits) {
  for (const char* text : {"18446744073709551616", "16777216TiB", "99999999999999999999999MiB", "18446744073710TB"}) {
    const auto size = parse_byte_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_NE(size.error().message().find("more than can be counted"), std::string::npos) << size.error().message();
  }
}

TEST(ByteSize, ShortestExactSpelling) {
  EXPECT_EQ(to_string(ByteSize{8388608}), "8MiB");
  EXPECT_EQ(to_string(ByteSize{8000000}), "8MB");
  EXPECT_EQ(to_string(ByteSize{1500}), "1500");
  EXPECT_EQ(to_string(ByteSize{1000}), "1kB");
  EXPECT_EQ(to_string(ByteSize{0}), "0");
  EXPECT_EQ(to_string(ByteSize{1}), "1");
  EXPECT_EQ(to_string(ByteSize{1099511627776}), "1TiB");
}

RC_GTEST_PROP(ByteSizeProperty, WhatIsWrittenIsReadBack, ()) {
  const std::uint64_t number = *rc::gen::inRange<std::uint64_t>(0, 100000);
  const std::uint64_t unit = *rc::gen::element<std::uint64_t>(1, 1000, 1024, 1000000, 1048576, 1073741824);
  const auto any = *rc::gen::arbitrary<std::uint64_t>();
  for (const std::uint64_t bytes : {number * unit, any}) {
    const auto back = parse_byte_size(to_string(ByteSize{bytes}));
    RC_ASSERT(back.has_value());
    RC_ASSERT(back->bytes == bytes);
  }
}

TEST(DurationText, ReadsEveryUnitAndTheirSums) {
  const std::pair<const char*, Duration> cases[] = {
      {"0s", seconds(0)},
      {"250ms", milliseconds(250)},
      {"5s", seconds(5)},
      {"1m30s", seconds(90)},
      {"2h", hours(2)},
      {"1d", hours(24)},
      {"1d2h3m4s5ms6us7ns", hours(26) + minutes(3) + seconds(4) + Duration(5'006'007)},
      {"90s", seconds(90)},
      {"1500us", Duration(1'500'000)},
      {"9223372036854775807ns", Duration::max()},
  };
  for (const auto& [text, value] : cases) {
    const auto duration = parse_duration(text);
    ASSERT_TRUE(duration) << text << ": " << duration.error().message();
    EXPECT_EQ(*duration, value) << text;
  }
}

TEST(DurationText, RefusesWhatIsNoDuration) {
  for (const char* text :
       {"", "5", "0", "s", "-5s", "1.5s", "5 s", "30s1m", "5s5s", "5S", "5sec", "1m30", "1w", "5s ", "ms"}) {
    const auto duration = parse_duration(text);
    ASSERT_FALSE(duration) << text;
    EXPECT_NE(duration.error().message().find("is no duration"), std::string::npos) << duration.error().message();
  }
}

TEST(DurationText, RefusesWhatNanosecondsCannotCount) {
  for (const char* text :
       {"9223372036854775808ns", "106752d", "106751d24h", "99999999999999999999s", "9223372036s854775808ns"}) {
    const auto duration = parse_duration(text);
    ASSERT_FALSE(duration) << text;
    EXPECT_NE(duration.error().message().find("more than can be counted"), std::string::npos)
        << duration.error().message();
  }
}

TEST(DurationText, WritesTheLargestUnitsFirst) {
  EXPECT_EQ(to_string(Duration(seconds(90))), "1m30s");
  EXPECT_EQ(to_string(Duration(milliseconds(1500))), "1s500ms");
  EXPECT_EQ(to_string(Duration(0)), "0s");
  EXPECT_EQ(to_string(Duration(hours(25))), "1d1h");
  EXPECT_EQ(to_string(Duration(-seconds(2))), "-2s");
}

RC_GTEST_PROP(DurationProperty, WhatIsWrittenIsReadBack, ()) {
  const Duration duration(*rc::gen::inRange<std::int64_t>(0, std::numeric_limits<std::int64_t>::max()));
  const auto back = parse_duration(to_string(duration));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == duration);
}

// Expected seconds are Python's datetime's.
constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kNoon = 1'782'907'200 * kSecond;  // 2026-07-01T12:00:00Z

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

TEST(Secret, IsReadOnlyByReveal) {
  const Secret secret("s3cr3t");
  EXPECT_EQ(secret.reveal(), "s3cr3t");
  EXPECT_FALSE(secret.empty());
  EXPECT_TRUE(Secret().empty());
}

}  // namespace
}  // namespace millrace
