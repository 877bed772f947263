// SPDX-License-Identifier: Apache-2.0
// What is compressed block by block is read back by zlib and libzstd, which are not the writers of every level.
#include "millrace/codec/compressor.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <zstd.h>

#include <string>
#include <vector>

#include "codec/zlib_reference.h"

namespace millrace {
namespace {

std::string unzstd(std::string_view frames) {
  std::string plain;
  while (!frames.empty()) {
    const std::size_t size = ZSTD_findFrameCompressedSize(frames.data(), frames.size());
    if (ZSTD_isError(size) != 0U) {
      ADD_FAILURE() << ZSTD_getErrorName(size);
      break;
    }
    const auto content = ZSTD_getFrameContentSize(frames.data(), size);
    std::string block(content, '\0');
    EXPECT_EQ(ZSTD_decompress(block.data(), block.size(), frames.data(), size), content);
    plain += block;
    frames.remove_prefix(size);
  }
  return plain;
}

std::string read_back(Codec codec, std::string_view bytes) {
  return codec == Codec::gzip ? millrace::codec::zlib_decoded(std::string(bytes)).bytes : unzstd(bytes);
}

std::string lines(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "{\"n\":" + std::to_string(i * 7919) + ",\"word\":\"some\"}\n";
  return text;
}

RC_GTEST_PROP(Compressor, BlocksOfAnyBytesAndLevelComeBack, ()) {
  const Codec codec = *rc::gen::element(Codec::gzip, Codec::zstd);
  const CompressionLevels levels = compression_levels(codec);
  const auto compressor = make_compressor({codec, *rc::gen::inRange(0, levels.most + 1)});
  ByteBuffer out;
  std::string all;
  for (const std::string& block : *rc::gen::arbitrary<std::vector<std::string>>()) {
    compressor->compress(block, out);
    all += block;
  }
  RC_ASSERT(read_back(codec, out.view()) == all);
}

TEST(Compressor, EveryLevelPacksLinesAndSaysTheSameEachTime) {
  const std::string text = lines(4000);
  for (const Codec codec : {Codec::gzip, Codec::zstd}) {
    for (int level = 1; level <= compression_levels(codec).most; ++level) {
      const auto compressor = make_compressor({codec, level});
      ByteBuffer once;
      compressor->compress(text, once);
      ByteBuffer twice;
      compressor->compress(text, twice);
      EXPECT_EQ(once.view(), twice.view()) << to_string(codec) << " " << level;
      EXPECT_LT(once.size(), text.size() / 3) << to_string(codec) << " " << level;
      EXPECT_TRUE(read_back(codec, once.view()) == text) << to_string(codec) << " " << level;
    }
  }
}

TEST(Compressor, BytesThatCannotBePackedAreLargerThanTheRoomOfOneStep) {
  std::string noise(300'000, '\0');
  std::uint64_t state = 88172645463325252U;
  for (char& byte : noise) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    byte = static_cast<char>(state);
  }
  for (const Compression& compression :
       {Compression{Codec::gzip, 1}, Compression{Codec::gzip, 9}, Compression{Codec::zstd, 3}}) {
    ByteBuffer out;
    make_compressor(compression)->compress(noise, out);
    EXPECT_GE(out.size(), noise.size());
    EXPECT_TRUE(read_back(compression.codec, out.view()) == noise);
  }
}

}  // namespace
}  // namespace millrace
