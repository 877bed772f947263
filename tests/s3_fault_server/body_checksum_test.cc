// SPDX-License-Identifier: Apache-2.0
// Goal: the server's own checksums are those of the world. Method: the check values of each algorithm's definition (of
// "123456789": cbf43926, e3069283, ae8b14860a799888; SHA-256 by sha256sum), in base64.
#include "tests/s3_fault_server/body_checksum.h"

#include <gtest/gtest.h>

namespace millrace::testing {
namespace {

TEST(BodyChecksum, CheckValues) {
  EXPECT_EQ(checksum_text("crc32", "123456789"), "y/Q5Jg==");
  EXPECT_EQ(checksum_text("crc32c", "123456789"), "4waSgw==");
  EXPECT_EQ(checksum_text("crc64nvme", "123456789"), "rosUhgp5mIg=");
  EXPECT_EQ(checksum_text("sha256", "123456789"), "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=");
  EXPECT_EQ(checksum_text("md5", "123456789"), "");
}

TEST(BodyChecksum, WhatARequestSaysIsCompared) {
  HttpRequest request;
  request.body = "123456789";
  EXPECT_TRUE(body_checksum(request).matches);
  EXPECT_EQ(body_checksum(request).header, "");
  request.headers = {{"x-amz-checksum-algorithm", "CRC32"}, {"x-amz-checksum-crc32", "y/Q5Jg=="}};
  EXPECT_TRUE(body_checksum(request).matches);
  EXPECT_EQ(body_checksum(request).header, "x-amz-checksum-crc32");
  request.body = "12345678";
  EXPECT_FALSE(body_checksum(request).matches);
}

}  // namespace
}  // namespace millrace::testing
