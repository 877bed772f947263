// SPDX-License-Identifier: Apache-2.0
#include "codec/gzip_header.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace millrace::codec {
namespace {

// By hand from RFC 1952: ID1 ID2 CM FLG MTIME(4) XFL OS, then what the flags ask for. The CRC16s come from python's
// zlib: zlib.crc32(header) & 0xffff.
const std::string kBare("\x1F\x8B\x08\x00\0\0\0\0\0\x03", 10);
const std::string kNameAndCrc("\x1F\x8B\x08\x0A\0\0\0\0\0\x03name\0\x43\x5C", 17);
const std::string kAll("\x1F\x8B\x08\x1F\0\0\0\0\0\x03\x04\0xtraname\0comment\0\x65\x8E", 31);

TEST(GzipHeader, TakesExactlyTheHeaderAtEveryCut) {
  for (const std::string& header : {kBare, kNameAndCrc, kAll}) {
    const std::string bytes = header + "deflate data";
    for (std::size_t at = 0; at <= header.size(); ++at) {
      GzipHeader reader;
      const auto first = reader.take(std::string_view(bytes).substr(0, at));
      ASSERT_TRUE(first) << first.error().message();
      EXPECT_EQ(*first, at);
      EXPECT_EQ(reader.done(), at == header.size());
      const auto second = reader.take(std::string_view(bytes).substr(at));
      ASSERT_TRUE(second) << second.error().message();
      EXPECT_EQ(at + *second, header.size());
      EXPECT_TRUE(reader.done());
    }
  }
}

TEST(GzipHeader, AnExtraFieldOfNoBytesIsOne) {
  const std::string header("\x1F\x8B\x08\x04\0\0\0\0\0\x03\0\0", 12);
  GzipHeader reader;
  EXPECT_EQ(reader.take(header + "x"), 12U);
  EXPECT_TRUE(reader.done());
}

TEST(GzipHeader, SaysWhatIsWrong) {
  const std::vector<std::tuple<std::string, std::string>> cases{
      {"{", "not gzip data: the first byte is 7b, not 1f"},
      {"\x1F{", "not gzip data: it begins with 1f 7b, not 1f 8b"},
      {"\x1F\x8B\x07", "gzip compression method 7 is unknown; only deflate (8) is"},
      {"\x1F\x8B\x08\x20", "gzip header flags 20 have reserved bits set"},
      {kNameAndCrc.substr(0, 15) + "xx", "the checksum of a gzip header does not match the header"},
  };
  for (const auto& [bytes, message] : cases) {
    GzipHeader reader;
    const auto refused = reader.take(bytes);
    ASSERT_FALSE(refused) << message;
    EXPECT_EQ(refused.error().message(), message);
  }
}

}  // namespace
}  // namespace millrace::codec
