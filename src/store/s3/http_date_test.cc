// SPDX-License-Identifier: Apache-2.0
// Expected numbers are from `date -u -d ... +%s`.
#include "store/s3/http_date.h"

#include <gtest/gtest.h>

namespace millrace::s3 {
namespace {

TEST(HttpDate, HeadersAndListings) {
  EXPECT_EQ(parse_http_date("Fri, 24 May 2013 00:00:00 GMT"), 1'369'353'600'000'000);
  EXPECT_EQ(parse_http_date("Sun, 29 Feb 2032 23:59:59 GMT"), 1'961'711'999'000'000);
  EXPECT_EQ(parse_iso_date("2013-05-24T00:00:00Z"), 1'369'353'600'000'000);
  EXPECT_EQ(parse_iso_date("2013-05-24T00:00:00.000Z"), 1'369'353'600'000'000);
  EXPECT_EQ(parse_iso_date("2013-05-24T00:00:01.25Z"), 1'369'353'601'250'000);
  EXPECT_EQ(parse_iso_date("2013-05-24T00:00:01.123456789Z"), 1'369'353'601'123'456);
}

TEST(HttpDate, WhatIsNoneGivesNothing) {
  for (const char* text : {"", "yesterday", "Fri, 24 Mai 2013 00:00:00 GMT", "Fri, 31 Feb 2013 00:00:00 GMT",
                           "Fri, 24 May 2013 25:00:00 GMT", "Fri, 24 May 2013 00:00:00 EST"}) {
    EXPECT_FALSE(parse_http_date(text)) << text;
  }
  for (const char* text : {"", "2013-05-24", "2013-13-24T00:00:00Z", "2013-05-24T00:00:00", "2013-05-24T00:00:00.xZ",
                           "2013-05-24 00:00:00Z", "2013-05-24T00:00:00+02:00"}) {
    EXPECT_FALSE(parse_iso_date(text)) << text;
  }
}

TEST(HttpDate, H01_RetryAfterInSecondsOrAsDate) {
  const UnixMicros now = 1'369'353'600'000'000;
  EXPECT_EQ(parse_retry_after("2", now), std::chrono::seconds(2));
  EXPECT_EQ(parse_retry_after("Fri, 24 May 2013 00:00:30 GMT", now), std::chrono::seconds(30));
  EXPECT_EQ(parse_retry_after("Thu, 23 May 2013 00:00:00 GMT", now), std::chrono::seconds(0));
  EXPECT_EQ(parse_retry_after("99999999", now), std::chrono::hours(1));
  EXPECT_FALSE(parse_retry_after("soon", now));
}

}  // namespace
}  // namespace millrace::s3
