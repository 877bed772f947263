// SPDX-License-Identifier: Apache-2.0
// Goal: bz2, xz and lz4 streams, whole, cut, damaged and padded, are read as their programs read them, or refused by
// name. Method: files of bzip2, xz and lz4 (make_test_data.py); offsets and headers worked out by hand. That every cut
// of them gives the same bytes is shown in decompressor_test.cc.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "codec/stream_testing.h"
#include "millrace/codec/decompressor.h"

namespace millrace::codec {
namespace {

std::string data(const std::string& name) { return file_bytes(std::filesystem::path(MILLRACE_CODEC_TEST_DATA) / name); }
std::unique_ptr<Decompressor> decoder(Codec codec, const DecompressorOptions& options = {}) {
  return make_decompressor(codec, options);
}
bool says(const Decoded& decoded, const std::string& part) {
  return decoded.error && decoded.error->message().find(part) != std::string::npos;
}
std::string message(const Decoded& decoded) { return decoded.error ? decoded.error->message() : "no error"; }

std::vector<Codec> built() {
  std::vector<Codec> all;
  for (const Codec codec : {Codec::bz2, Codec::xz, Codec::lz4}) {
    if (codec_is_built(codec)) all.push_back(codec);
  }
  return all;
}
std::string ending(Codec codec) { return "." + std::string(to_string(codec)); }

TEST(OptionalCodecs, D01_EveryStreamAndEveryFrame) {
  for (const Codec codec : built()) {
    for (const std::string form : {"short.three", "short.hollow", "short.midline", "some.members", "lines.two"}) {
      const Decoded decoded = decode(*decoder(codec), data(form + ending(codec)));
      EXPECT_FALSE(decoded.error) << form << ": " << message(decoded);
      EXPECT_TRUE(decoded.bytes == data(form.substr(0, form.find('.')))) << form << ending(codec);
    }
  }
}

TEST(OptionalCodecs, D04_AnyBeginningOfAStreamButNothingIsTruncated) {
  for (const Codec codec : built()) {
    for (const std::string name : {"short", "empty", "lines", "noise", "zeros"}) {
      const std::string bytes = data(name + ending(codec));
      const std::string plain = data(name);
      std::vector<std::size_t> lengths{1, 5, 10, 12, 17, bytes.size() / 2, bytes.size() - 8, bytes.size() - 1};
      for (std::size_t i = 1; i < bytes.size() && bytes.size() < 1000; ++i) lengths.push_back(i);
      const auto decompressor = decoder(codec);
      for (const std::size_t length : lengths) {
        if (length >= bytes.size()) continue;
        const Decoded decoded = decode(*decompressor, bytes.substr(0, length));
        ASSERT_TRUE(decoded.error) << name << ending(codec) << " cut at " << length;
        EXPECT_EQ(decoded.error->code(), ErrorCode::truncated) << message(decoded);
        EXPECT_TRUE(says(decoded, "ends after " + std::to_string(length) + " bytes")) << message(decoded);
        EXPECT_TRUE(plain.starts_with(decoded.bytes)) << name << ending(codec) << " cut at " << length;
      }
    }
  }
}

TEST(OptionalCodecs, D05_EverySingleByteOfDamageIsNoticed) {
  for (const Codec codec : built()) {
    const std::string bytes = data("short" + ending(codec));
    const std::string plain = data("short");
    const auto decompressor = decoder(codec);
    std::set<std::size_t> unnoticed;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (const int flip : {0x01, 0x80, 0xFF}) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ flip);
        const Decoded decoded = decode(*decompressor, damaged);
        if (!decoded.error) {
          unnoticed.insert(at);
          EXPECT_EQ(decoded.bytes, plain);
        } else if (decoded.error->code() == ErrorCode::corrupt) {
          EXPECT_TRUE(says(decoded, " is corrupt at byte ")) << message(decoded);
        }
      }
    }
    // The level of bz2 and the bits behind its end, and four bits of lz4's last token: no checksum covers what says
    // nothing.
    EXPECT_LE(unnoticed.size(), codec == Codec::xz ? 0U : 2U) << to_string(codec);
  }
}

TEST(OptionalCodecs, D05_DamageIsPlacedAndWhatStandsBeforeItIsRead) {
  for (const Codec codec : built()) {
    // The second of two streams with a byte turned over in its middle.
    const std::string first = data("lines" + ending(codec));
    std::string second = data("short" + ending(codec));
    second[second.size() / 2] = static_cast<char>(second[second.size() / 2] ^ 0x40);
    for (const std::size_t room : {1000, 1'000'000}) {
      const Decoded decoded = decode(*decoder(codec), first + second, room);
      ASSERT_TRUE(decoded.error);
      EXPECT_EQ(decoded.error->code(), ErrorCode::corrupt) << message(decoded);
      EXPECT_TRUE(says(decoded, " 2, which begins at byte " + std::to_string(first.size()))) << message(decoded);
      EXPECT_TRUE(decoded.bytes.starts_with(data("lines")));
      EXPECT_LE(decoded.bytes.size(), data("lines").size() + data("short").size());
    }
  }
}

TEST(OptionalCodecs, D12_ZeroPaddingIsCountedAndAnythingElseIsCorrupt) {
  for (const Codec codec : built()) {
    const std::string whole = data("short" + ending(codec));
    const auto decompressor = decoder(codec);
    for (const std::size_t room : {10, 100'000}) {
      for (const std::size_t zeros : {512, 3}) {
        const Decoded padded = decode(*decompressor, whole + std::string(zeros, '\0'), room);
        EXPECT_FALSE(padded.error) << message(padded);
        EXPECT_EQ(padded.bytes, data("short"));
        EXPECT_EQ(decompressor->trailing_zeros(), zeros);
      }
      for (const std::string& tail :
           {std::string("garbage"), std::string(512, '\0') + "x", std::string(3, '\0') + whole, std::string("\n"),
            whole.substr(0, 2) + "x", std::string(1, whole[0]) + "??????"}) {
        const Decoded garbage = decode(*decompressor, whole + tail, room);
        ASSERT_TRUE(garbage.error) << to_string(codec) << ' ' << tail;
        EXPECT_EQ(garbage.bytes, data("short")) << "the records before are not lost";
        const std::size_t zeros = tail.find_first_not_of('\0');
        EXPECT_EQ(garbage.error->code(), ErrorCode::corrupt) << message(garbage);
        EXPECT_TRUE(says(garbage, "at byte " + std::to_string(whole.size() + zeros))) << message(garbage);
      }
    }
  }
}

TEST(OptionalCodecs, OtherDataIsNamedAsSuch) {
  const auto said = [](Codec codec) { return message(decode(*decoder(codec), "{\"n\":1}\n")); };
  if (codec_is_built(Codec::bz2)) {
    EXPECT_EQ(said(Codec::bz2), "the bz2 stream is corrupt at byte 0: no bz2 stream begins here (BZh1 to BZh9)");
  }
  if (codec_is_built(Codec::xz)) {
    EXPECT_EQ(said(Codec::xz), "the xz stream is corrupt at byte 0: no xz stream begins here (fd 37 7a 58 5a 00)");
  }
  if (codec_is_built(Codec::lz4)) {
    EXPECT_EQ(said(Codec::lz4),
              "the lz4 stream is corrupt at byte 0: no lz4 frame begins here (04 22 4d 18, or 5x 2a 4d 18)");
  }
}

TEST(Xz, StreamPaddingMayStandBetweenStreams) {
  if (!codec_is_built(Codec::xz)) return;
  const auto decompressor = decoder(Codec::xz);
  const Decoded decoded = decode(*decompressor, data("short.padded.xz"));
  EXPECT_FALSE(decoded.error) << message(decoded);
  EXPECT_EQ(decoded.bytes, data("short"));
  EXPECT_EQ(decompressor->trailing_zeros(), 0U);
}

TEST(Xz, D11_MemoryOverTheLimitNamesNeedAndOption) {
  if (!codec_is_built(Codec::xz)) return;
  // xz -9 has a dictionary of 64 MiB, and its man page says that 65 MiB decompress it.
  const std::string bytes = data("short.best.xz");
  const Decoded refused = decode(*decoder(Codec::xz, {.xz_memory_limit = 32U << 20U}), bytes);
  ASSERT_TRUE(refused.error);
  EXPECT_EQ(refused.error->code(), ErrorCode::limit);
  EXPECT_EQ(message(refused),
            "the xz stream at byte 0 needs 65 MiB of memory to be read, more than xz_memory_limit: 32MiB allows; set "
            "xz_memory_limit: 65MiB, which lets a lane use that much");
  EXPECT_FALSE(decode(*decoder(Codec::xz, {.xz_memory_limit = 65U << 20U}), bytes).error);
  // A header alone, whose dictionary is one of 4 GiB, is refused before anything is allocated for it.
  const Decoded claim = decode(*decoder(Codec::xz), data("short.claim.xz"));
  ASSERT_TRUE(claim.error);
  EXPECT_EQ(claim.error->code(), ErrorCode::limit);
  EXPECT_TRUE(says(claim, "needs 4097 MiB")) << message(claim);
  // With a stream before it, the second one is named.
  const std::string good = data("short.xz");
  const Decoded second = decode(*decoder(Codec::xz, {.xz_memory_limit = 32U << 20U}), good + bytes);
  EXPECT_EQ(second.bytes, data("short"));
  EXPECT_TRUE(says(second, "the xz stream at byte " + std::to_string(good.size()) + " needs")) << message(second);
}

TEST(Lz4, DamageInTheMiddleLosesNoBlockBeforeIt) {
  if (!codec_is_built(Codec::lz4)) return;
  // Blocks of 64 KiB that do not compress, each behind its size; at last the third one's size is damaged: too large.
  const std::string plain = data("noise");
  std::string bytes = data("noise.small.lz4");
  const std::size_t third = 7 + 2 * (4 + 65536 + 4);
  bytes[third + 2] = static_cast<char>(bytes[third + 2] | 0x70);
  for (const std::size_t room : {1000, 1'000'000}) {
    const Decoded decoded = decode(*decoder(Codec::lz4), bytes, room);
    ASSERT_TRUE(decoded.error);
    EXPECT_EQ(decoded.error->code(), ErrorCode::corrupt);
    EXPECT_EQ(decoded.bytes.size(), 131072U);
    EXPECT_TRUE(plain.starts_with(decoded.bytes));
    EXPECT_TRUE(says(decoded, "at byte " + std::to_string(third + 4))) << message(decoded);
  }
}

TEST(Lz4, EachChecksumIsChecked) {
  if (!codec_is_built(Codec::lz4)) return;
  std::string frame = data("short.lz4");
  frame.back() = static_cast<char>(frame.back() ^ 1);  // of the content
  EXPECT_TRUE(says(decode(*decoder(Codec::lz4), frame), "contentChecksum"));
  std::string block = data("short.small.lz4");
  block[block.size() - 9] = static_cast<char>(block[block.size() - 9] ^ 1);  // of the block, before its end mark
  EXPECT_TRUE(says(decode(*decoder(Codec::lz4), block), "blockChecksum"));
  std::string size = data("short.size.lz4");
  size[6] = static_cast<char>(size[6] ^ 1);  // of the content; the header has a checksum
  EXPECT_TRUE(says(decode(*decoder(Codec::lz4), size), "at byte 0"));
}

TEST(Lz4, WhatIsNotReadIsRefusedByName) {
  if (!codec_is_built(Codec::lz4)) return;
  const Decoded legacy = decode(*decoder(Codec::lz4), data("short.legacy.lz4"));
  ASSERT_TRUE(legacy.error);
  EXPECT_EQ(legacy.error->code(), ErrorCode::not_supported);
  EXPECT_TRUE(says(legacy, "the lz4 frame at byte 0 has the legacy format")) << message(legacy);
  // A header by hand: version 1, blocks independent, a dictionary's id.
  const Decoded dictionary = decode(*decoder(Codec::lz4), std::string("\x04\x22\x4D\x18\x61\x40\1\0\0\0\0", 11));
  ASSERT_TRUE(dictionary.error);
  EXPECT_EQ(dictionary.error->code(), ErrorCode::not_supported);
  EXPECT_TRUE(says(dictionary, "dictionaries are not supported")) << message(dictionary);
}

}  // namespace
}  // namespace millrace::codec
