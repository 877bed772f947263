// SPDX-License-Identifier: Apache-2.0
// Goal: checksums as S3 spells them, of whole objects and of objects in parts. Method: the check values of each
// algorithm's definition, and what Python's zlib, hashlib and a CRC written out bit by bit say of "1234" and "56789".
#include "store/checksum/checksum.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Checksum, CheckValues) {
  EXPECT_EQ(checksum_of(ChecksumKind::crc32, "123456789"), "y/Q5Jg==");
  EXPECT_EQ(checksum_of(ChecksumKind::crc32c, "123456789"), "4waSgw==");
  EXPECT_EQ(checksum_of(ChecksumKind::crc64nvme, "123456789"), "rosUhgp5mIg=");
  EXPECT_EQ(checksum_of(ChecksumKind::sha256, "123456789"), "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=");
  EXPECT_EQ(checksum_of(ChecksumKind::none, "123456789"), "");
  EXPECT_EQ(checksum_of(ChecksumKind::crc64nvme, ""), "AAAAAAAAAAA=");
}

TEST(Checksum, OfParts) {
  const struct {
    ChecksumKind kind;
    std::string_view first;   // of "1234"
    std::string_view second;  // of "56789"
    std::string_view object;
  } cases[] = {
      {ChecksumKind::crc32, "m+Pgow==", "Ex2gcA==", "rBMwBw==-2"},
      {ChecksumKind::crc32c, "9jr07g==", "g7Vl2A==", "wClZWQ==-2"},
      {ChecksumKind::sha256, "A6xnQhbz4Vx2HuGl4lXwZ5U2I8iziLRFnhP5eNfIRvQ=",
       "92BDp07DO2rvuyiQUPr3qo1IIJVHc5fj5jNFEl1J9Sc=", "bnRBBTileCDVQlLT/6fZJGrqcf3O3X6G8kD8V7zZqxQ=-2"},
      {ChecksumKind::crc64nvme, "KfXb5+L/cdQ=", "+H3Ihxds5mc=", "rosUhgp5mIg="},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(checksum_of(c.kind, "1234"), c.first);
    EXPECT_EQ(checksum_of(c.kind, "56789"), c.second);
    const PartResult parts[] = {{1, 4, {}, std::string(c.first)}, {2, 5, {}, std::string(c.second)}};
    EXPECT_EQ(checksum_of_parts(c.kind, parts), c.object) << to_string(c.kind);
  }
}

TEST(Checksum, OfPartsThatAreNone) {
  // Too short, too long by characters and by bytes, no base64, bits beyond the last byte, a blank in front.
  for (const std::string_view bad :
       {"", "m+Pgow=", "KfXb5+L/cdQ=", "m+PgowAA", "m+PgowA=", "m+Pg*w==", "m+Pgox==", " m+Pgow="}) {
    const PartResult parts[] = {{1, 4, {}, std::string(bad)}};
    EXPECT_EQ(checksum_of_parts(ChecksumKind::crc32, parts), std::nullopt) << bad;
    EXPECT_EQ(checksum_of_parts(ChecksumKind::none, parts), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace millrace
