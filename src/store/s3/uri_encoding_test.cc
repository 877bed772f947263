// SPDX-License-Identifier: Apache-2.0
#include "store/s3/uri_encoding.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::s3 {
namespace {

TEST(UriEncoding, A03_EveryByteButTheUnreservedIsEncoded) {
  std::string all;
  std::string expected;
  const std::string plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    all += c;
    if (plain.find(c) != std::string::npos) {
      expected += c;
    } else {
      char hex[4];
      std::snprintf(hex, sizeof hex, "%%%02X", static_cast<unsigned>(byte));
      expected += hex;
    }
  }
  EXPECT_EQ(encode_path(all), expected);
}

TEST(UriEncoding, A03_KeysOfTheRow) {
  EXPECT_EQ(encode_path("in/dt=2026-01-01T00:00:00+02:00/p"), "in/dt%3D2026-01-01T00%3A00%3A00%2B02%3A00/p");
  EXPECT_EQ(encode_path("in/[x]{y}"), "in/%5Bx%5D%7By%7D");
  EXPECT_EQ(encode_path("in/100%"), "in/100%25");
  EXPECT_EQ(encode_path("in/a&b;c,d"), "in/a%26b%3Bc%2Cd");
  EXPECT_EQ(encode_path("in/q?v#f"), "in/q%3Fv%23f");
}

TEST(UriEncoding, A05_NothingIsNormalised) {
  EXPECT_EQ(encode_path("in//b/./../c//"), "in//b/./../c//");
  EXPECT_EQ(encode_path("/leading"), "/leading");
}

TEST(UriEncoding, A11_UnicodeStaysAsTheBytesItIs) {
  EXPECT_EQ(encode_path("\xc3\xa9"), "%C3%A9");
  EXPECT_EQ(encode_path("e\xcc\x81"), "e%CC%81");
}

TEST(UriEncoding, E01_QueryValuesEncodeSlashPlusEqualsAndBlank) {
  EXPECT_EQ(encode_query("1+/=&% x"), "1%2B%2F%3D%26%25%20x");
  EXPECT_EQ(encode_query(QueryPairs{{"prefix", "a/b"}, {"list-type", "2"}}), "list-type=2&prefix=a%2Fb");
  EXPECT_EQ(encode_query(QueryPairs{}), "");
}

TEST(UriEncoding, A01_ListedKeysAreDecodedOnce) {
  EXPECT_EQ(decode_listed("in/a%20b"), "in/a b");
  EXPECT_EQ(decode_listed("in/a%2520b"), "in/a%20b");
  EXPECT_EQ(decode_listed("in/x%253Ay"), "in/x%3Ay");
  EXPECT_EQ(decode_listed("a+b%2Bc"), "a b+c");  // AWS writes a blank as a plus
  EXPECT_EQ(decode_listed("%01%e2%82%ac"), "\x01\xe2\x82\xac");
  EXPECT_FALSE(decode_listed("50%"));
  EXPECT_FALSE(decode_listed("%2"));
  EXPECT_FALSE(decode_listed("%zz"));
}

}  // namespace
}  // namespace millrace::s3
