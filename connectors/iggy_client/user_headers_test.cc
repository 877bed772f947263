// SPDX-License-Identifier: Apache-2.0
// Goal: user headers come out as they went in, and what is none is a Record error. Method: bytes by hand, and any.
#include "millrace/iggy_client/user_headers.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/iggy_rig/capture.h"

namespace millrace::iggy {
namespace {

using iggy_rig::from_hex;

std::string text_of(HeaderKind kind, std::string_view hex) {
  std::string text;
  append_text(kind, from_hex(hex), text);
  return text;
}

TEST(UserHeaders, AreReadInOrder) {
  // string "k" = string "v1"; uint32 1 = a kind that there is not, of three bytes.
  const std::string block = from_hex(
      "02010000006b02020000007631"
      "0b0400000001000000"
      "6303000000aabbcc");
  std::vector<UserHeader> headers;
  ASSERT_TRUE(decode_user_headers(block, headers));
  ASSERT_EQ(headers.size(), 2U);
  EXPECT_EQ(headers[0], (UserHeader{HeaderKind::string, "k", HeaderKind::string, "v1"}));
  EXPECT_EQ(headers[1].key_kind, HeaderKind::uint32);
  EXPECT_EQ(static_cast<int>(headers[1].value_kind), 0x63);
  EXPECT_EQ(headers[1].value, from_hex("aabbcc"));
  EXPECT_TRUE(is_text(headers[1].value_kind));
}

TEST(UserHeaders, WhatIsNoneIsARecordError) {
  std::vector<UserHeader> headers;
  for (const std::string_view hex : {"ff", "02000000006b", "0201000000", "02010000006b", "02010000006b0200000000",
                                     "0201ffffff6b", "deadbeefdeadbeefdeadbeef"}) {
    const auto read = decode_user_headers(from_hex(hex), headers);
    ASSERT_FALSE(read) << hex;
    EXPECT_TRUE(read.error().is_record());
  }
  // The one before the fault is kept.
  EXPECT_FALSE(decode_user_headers(from_hex("02010000006b02020000007631ff"), headers));
  EXPECT_EQ(headers.size(), 1U);
}

TEST(UserHeaders, NumbersAsText) {
  EXPECT_EQ(text_of(HeaderKind::boolean, "01"), "true");
  EXPECT_EQ(text_of(HeaderKind::boolean, "00"), "false");
  EXPECT_EQ(text_of(HeaderKind::int8, "fb"), "-5");
  EXPECT_EQ(text_of(HeaderKind::int16, "0080"), "-32768");
  EXPECT_EQ(text_of(HeaderKind::int64, "ffffffffffffff7f"), "9223372036854775807");
  EXPECT_EQ(text_of(HeaderKind::uint8, "ff"), "255");
  EXPECT_EQ(text_of(HeaderKind::uint64, "ffffffffffffffff"), "18446744073709551615");
  EXPECT_EQ(text_of(HeaderKind::int128, "fbffffffffffffffffffffffffffffff"), "-5");
  EXPECT_EQ(text_of(HeaderKind::int128, "00000000000000000000000000000080"),
            "-170141183460469231731687303715884105728");
  EXPECT_EQ(text_of(HeaderKind::uint128, "ffffffffffffffffffffffffffffffff"),
            "340282366920938463463374607431768211455");
  EXPECT_EQ(text_of(HeaderKind::uint128, "00000000000000000000000000000000"), "0");
  EXPECT_EQ(text_of(HeaderKind::float32, "0000803e"), "0.25");
  EXPECT_EQ(text_of(HeaderKind::float64, "000000000000f8bf"), "-1.5");
  // A number of the wrong length stays what it is.
  EXPECT_EQ(text_of(HeaderKind::int32, "414243"), "ABC");
  EXPECT_EQ(text_of(HeaderKind::boolean, "4142"), "AB");
  EXPECT_EQ(text_of(HeaderKind::int128, "4142"), "AB");
}

TEST(UserHeaders, WhatCannotBeSentIsARecordError) {
  ByteBuffer block;
  const std::string long_value(256, 'x');
  EXPECT_FALSE(encode_user_header({HeaderKind::string, "", HeaderKind::string, "v"}, block));
  EXPECT_FALSE(encode_user_header({HeaderKind::string, "k", HeaderKind::string, ""}, block));
  EXPECT_TRUE(encode_user_header({HeaderKind::string, "k", HeaderKind::string, long_value}, block).error().is_record());
  EXPECT_TRUE(block.empty());
  const std::string most(255, 'x');
  Result<void> done;
  std::size_t headers = 0;
  for (; done; ++headers) done = encode_user_header({HeaderKind::raw, most, HeaderKind::raw, most}, block);
  EXPECT_EQ(headers - 1, 100'000 / 520);
  EXPECT_LE(block.size(), 100'000U);
}

RC_GTEST_PROP(UserHeaders, ComeBackAsTheyWent, ()) {
  const auto part = rc::gen::mapcat(rc::gen::inRange<std::size_t>(1, 256), [](std::size_t size) {
    return rc::gen::container<std::string>(size, rc::gen::arbitrary<char>());
  });
  const auto parts = *rc::gen::container<std::vector<std::pair<std::string, std::string>>>(rc::gen::pair(part, part));
  ByteBuffer block;
  for (const auto& [key, value] : parts) {
    RC_ASSERT(encode_user_header({HeaderKind::string, key, HeaderKind::raw, value}, block).has_value());
  }
  std::vector<UserHeader> back;
  RC_ASSERT(decode_user_headers(block.view(), back).has_value());
  RC_ASSERT(back.size() == parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    RC_ASSERT(back[i].key == parts[i].first && back[i].value == parts[i].second);
  }
}

RC_GTEST_PROP(UserHeaders, AnyBytesAtAll, (const std::string& block)) {
  std::vector<UserHeader> headers;
  static_cast<void>(decode_user_headers(block, headers));
}

}  // namespace
}  // namespace millrace::iggy
