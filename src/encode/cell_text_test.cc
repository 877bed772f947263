// SPDX-License-Identifier: Apache-2.0
// What texts stand for, by `date -u -d` and by hand.
#include "encode/cell_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>
#include <string>

#include "millrace/encode/json_writer.h"

namespace millrace {
namespace {

TEST(CellText, Timestamps) {
  EXPECT_EQ(read_timestamp("2026-07-01T12:00:00Z"), 1'782'907'200'000'000);
  EXPECT_EQ(read_timestamp("2026-07-01t12:00:00.5z"), 1'782'907'200'500'000);
  EXPECT_EQ(read_timestamp("2026-07-01 12:00:00.123456Z"), 1'782'907'200'123'456);
  EXPECT_EQ(read_timestamp("2026-07-01T12:00:00.123456000Z"), 1'782'907'200'123'456);
  EXPECT_EQ(read_timestamp("2026-07-01T14:30:00+02:30"), 1'782'907'200'000'000);
  EXPECT_EQ(read_timestamp("2026-07-01T09:00:00-03:00"), 1'782'907'200'000'000);
  EXPECT_EQ(read_timestamp("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(read_timestamp("1969-12-31T23:59:59.999999Z"), -1);
  EXPECT_EQ(read_timestamp("0000-01-01T00:00:00Z"), -62'167'219'200'000'000);
  EXPECT_EQ(read_timestamp("9999-12-31T23:59:59.999999Z"), 253'402'300'799'999'999);
  EXPECT_EQ(read_timestamp("2024-02-29T00:00:00Z"), 1'709'164'800'000'000);
}

TEST(CellText, WhatIsNoTimestamp) {
  for (const char* text :
       {"", "2026-07-01", "2026-07-01T12:00:00", "2026-07-01T12:00Z", "2026-07-01T12:00:00.Z", "2026-7-01T12:00:00Z",
        "2026-02-29T12:00:00Z", "2026-07-01T24:00:00Z", "2026-07-01T12:60:00Z", "2026-07-01T12:00:60Z",
        "2026-07-01T12:00:00.1234567Z", "2026-07-01T12:00:00+2:30", "2026-07-01T12:00:00+24:00",
        "2026-07-01T12:00:00Z ", " 2026-07-01T12:00:00Z", "12026-07-01T12:00:00Z", "2026-07-01X12:00:00Z"}) {
    EXPECT_EQ(read_timestamp(text), std::nullopt) << text;
  }
}

TEST(CellText, Days) {
  EXPECT_EQ(read_date("1970-01-01"), 0);
  EXPECT_EQ(read_date("1969-12-31"), -1);
  EXPECT_EQ(read_date("2026-07-01"), 20'635);
  for (const char* text : {"", "2026-07-1", "2026-13-01", "2026-00-01", "2026-07-32", "2026-07-01T", "20260701"}) {
    EXPECT_EQ(read_date(text), std::nullopt) << text;
  }
}

std::optional<std::int64_t> small(std::string_view text, int precision, int scale) {
  const auto number = read_decimal(text, precision, scale);
  if (!number) return std::nullopt;
  EXPECT_EQ(number->high, static_cast<std::int64_t>(number->low) < 0 ? -1 : 0);
  return static_cast<std::int64_t>(number->low);
}

TEST(CellText, Decimals) {
  EXPECT_EQ(small("1.5", 5, 2), 150);
  EXPECT_EQ(small("-1.5", 5, 2), -150);
  EXPECT_EQ(small("0", 1, 0), 0);
  EXPECT_EQ(small("-0", 1, 0), 0);
  EXPECT_EQ(small("0.00", 3, 1), 0);
  EXPECT_EQ(small("999.99", 5, 2), 99'999);
  EXPECT_EQ(small("1.500", 5, 2), 150) << "zeros behind are no digits";
  EXPECT_EQ(small("15e-1", 5, 2), 150);
  EXPECT_EQ(small("0.0015E+3", 5, 2), 150);
  EXPECT_EQ(small("0e999999999", 5, 2), 0);
  EXPECT_EQ(small("1000.00", 5, 2), std::nullopt) << "a digit too many";
  EXPECT_EQ(small("1.505", 5, 2), std::nullopt) << "a digit too many behind the point";
  EXPECT_EQ(small("1e4", 5, 2), std::nullopt);
  for (const char* text : {"", "-", ".5", "5.", "1e", "1e+", "1e+-5", "1x", "01", "+1", "NaN", " 1", "1e99999999999"}) {
    EXPECT_EQ(read_decimal(text, 38, 2), std::nullopt) << text;
  }
}

// 10^38 - 1 = 0x4b3b4ca85a86c47a098a223fffffffff, by bc.
TEST(CellText, TheWidestDecimal) {
  const auto most = read_decimal(std::string(38, '9'), 38, 0);
  ASSERT_TRUE(most);
  EXPECT_EQ(most->high, 0x4b3b4ca85a86c47a);
  EXPECT_EQ(most->low, 0x098a223fffffffffU);
  const auto least = read_decimal("-" + std::string(38, '9'), 38, 0);
  ASSERT_TRUE(least);
  EXPECT_EQ(least->high, ~0x4b3b4ca85a86c47a);
  EXPECT_EQ(least->low, 0xf675ddc000000001U);
  EXPECT_FALSE(read_decimal(std::string(39, '9'), 38, 0));
  EXPECT_FALSE(read_decimal("1" + std::string(100, '0'), 38, 0));
}

RC_GTEST_PROP(CellText, EveryWholeNumberIsItself, (std::int64_t number)) {
  const auto read = read_decimal(std::to_string(number), 38, 0);
  RC_ASSERT(read.has_value());
  RC_ASSERT(static_cast<std::int64_t>(read->low) == number);
  RC_ASSERT(read->high == (number < 0 ? -1 : 0));
}

RC_GTEST_PROP(CellText, Base64ComesBack, (std::string bytes)) {
  ByteBuffer text;
  append_base64(text, bytes);
  ByteBuffer back;
  back.append("before");
  RC_ASSERT(append_from_base64(back, text.view()));
  RC_ASSERT(back.view() == "before" + bytes);
}

TEST(CellText, WhatIsNoBase64) {
  for (const char* text : {"A", "AA", "AAA", "====", "A===", "AA=A", "AB==", "AAB=", "AA==AAAA", "AA A", "AA-_"}) {
    ByteBuffer out;
    EXPECT_FALSE(append_from_base64(out, text)) << text;
    EXPECT_EQ(out.size(), 0U);
  }
  ByteBuffer out;
  EXPECT_TRUE(append_from_base64(out, "Zm9vYg=="));
  EXPECT_EQ(out.view(), "foob");
}

}  // namespace
}  // namespace millrace
