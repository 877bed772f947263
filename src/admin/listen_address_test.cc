// SPDX-License-Identifier: Apache-2.0
#include "admin/listen_address.h"

#include <gtest/gtest.h>

namespace millrace::admin {
namespace {

std::string normal(std::string_view text) {
  const auto address = parse_listen_address(text);
  return address ? to_string(*address) : "refused";
}

TEST(ListenAddress, LoopbackUnlessToldOtherwise) {
  EXPECT_EQ(normal("9090"), "127.0.0.1:9090");
  EXPECT_EQ(normal(":9090"), "127.0.0.1:9090");
  EXPECT_EQ(normal("0"), "127.0.0.1:0");
  EXPECT_EQ(normal("0.0.0.0:9090"), "0.0.0.0:9090");
  EXPECT_EQ(normal("localhost:65535"), "localhost:65535");
  EXPECT_EQ(normal("[::1]:80"), "[::1]:80");
  EXPECT_EQ(normal("[::]:80"), "[::]:80");
}

TEST(ListenAddress, WhatIsNoneIsNamed) {
  for (const char* text : {"", ":", "host", "host:", "1.2.3.4:65536", ":-1", ":+1", ":80x", "::1:80", "[::1]", "[::1",
                           "[]:80", "[::1]80", "a b:80", "http://localhost:80", ": 80"}) {
    const auto refused = parse_listen_address(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code(), ErrorCode::config);
    EXPECT_TRUE(refused.error().message().starts_with("'" + std::string(text) + "' is no address to listen on: "));
  }
}

}  // namespace
}  // namespace millrace::admin
