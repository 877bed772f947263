// SPDX-License-Identifier: Apache-2.0
// Goal: of a gzip stream that is damaged in its middle everything before the damage comes out, and nothing that was not
// there. Method: a stream made by hand, and zlib beside us on a file of the gzip program with one bit turned over.
#include <gtest/gtest.h>

#include <filesystem>

#include "codec/stream_testing.h"
#include "codec/zlib_reference.h"
#include "millrace/codec/decompressor.h"

namespace millrace::codec {
namespace {

const std::filesystem::path kData = MILLRACE_CODEC_TEST_DATA;

TEST(GzipDamage, DamageInTheMiddleOfAMemberLosesNothingBeforeIt) {
  const auto decompressor = make_decompressor(Codec::gzip, DecompressorOptions{});
  // Stored blocks made by hand, each `00`, length, its complement, bytes; then a block of type 3, which is reserved.
  const std::string plain = file_bytes(kData / "noise").substr(0, 200'000);
  std::string gzip("\x1F\x8B\x08\x00\0\0\0\0\0\x03", 10);
  for (std::size_t at = 0; at < plain.size(); at += 50'000) {
    gzip += std::string("\x00\x50\xC3\xAF\x3C", 5) + plain.substr(at, 50'000);
  }
  gzip += std::string(40, '\x07');
  for (const std::size_t room : {1000, 100'000, 1'000'000}) {
    const Decoded decoded = decode(*decompressor, gzip, room);
    ASSERT_TRUE(decoded.error);
    EXPECT_EQ(decoded.error->code(), ErrorCode::corrupt);
    EXPECT_TRUE(decoded.bytes == plain) << decoded.bytes.size();
  }
}

TEST(GzipDamage, NothingIsMadeUpWhereAMatchIsInvalid) {
  const auto decompressor = make_decompressor(Codec::gzip, DecompressorOptions{});
  // Damage in the middle of a large file: isa-l's fast loop counts the match that fails as written.
  const std::string whole = file_bytes(kData / "lines.gz");
  int damaged_in_matches = 0;
  for (std::size_t at = 1000; at < whole.size(); at += 997) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    for (const std::size_t room : {5'000, 300'000}) {
      const Decoded decoded = decode(*decompressor, bytes, room);
      ASSERT_TRUE(decoded.error);
      const ZlibDecoded zlib = zlib_decoded(bytes);
      ASSERT_TRUE(agrees_with_zlib(decoded.bytes, zlib)) << at << ' ' << zlib.damage;
      if (decoded.bytes.size() < zlib.bytes.size()) {
        ++damaged_in_matches;
        EXPECT_LE(zlib.bytes.size() - decoded.bytes.size(), 512U);
      }
    }
  }
  EXPECT_GT(damaged_in_matches, 0);
}

}  // namespace
}  // namespace millrace::codec
