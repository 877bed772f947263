// SPDX-License-Identifier: Apache-2.0
// Goal: the same plain bytes whatever the pieces and the room, and no damaged stream taken for a whole one. Method:
// files made by the programs of each codec and by python's modules (make_test_data.py), cut everywhere; zlib and
// libzstd as writers of random content; every single-byte damage of a small stream.
#include "millrace/codec/decompressor.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "codec/stream_testing.h"
#include "codec/zlib_reference.h"

namespace millrace::codec {
namespace {

std::string data(const std::string& name) { return file_bytes(std::filesystem::path(MILLRACE_CODEC_TEST_DATA) / name); }

std::unique_ptr<Decompressor> of_name(const std::string& name) {
  return make_decompressor(codec_of_key(name), DecompressorOptions{});
}

// Every compressed file that is whole, with the plain file it decodes to.
std::vector<std::pair<std::string, std::string>> whole_files() {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& entry : std::filesystem::directory_iterator(MILLRACE_CODEC_TEST_DATA)) {
    const std::string name = entry.path().filename().string();
    const bool refused = std::ranges::any_of(std::array{"dictionary", "long31", "claim", "legacy"},
                                             [&](const char* part) { return name.find(part) != std::string::npos; });
    if (codec_of_key(name) == Codec::none || !codec_is_built(codec_of_key(name)) || refused) continue;
    all.emplace_back(name, name.substr(0, name.find('.')));
  }
  EXPECT_GE(all.size(), 30U);
  return all;
}

std::vector<std::string> cut(const std::string& bytes, std::vector<std::size_t> at) {
  std::sort(at.begin(), at.end());
  at.push_back(bytes.size());
  std::vector<std::string> pieces;
  std::size_t begin = 0;
  for (const std::size_t end : at) {
    pieces.push_back(bytes.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

TEST(Decompressor, ReadsWhatTheProgramsWrite) {
  for (const auto& [name, plain] : whole_files()) {
    const auto decompressor = of_name(name);
    for (const std::size_t room : {std::size_t{997}, std::size_t{64} << 10U, std::size_t{1} << 20U}) {
      const Decoded decoded = decode(*decompressor, data(name), room);
      EXPECT_FALSE(decoded.error) << name << ": " << decoded.error->message();
      EXPECT_TRUE(decoded.bytes == data(plain)) << name;
      EXPECT_EQ(decompressor->trailing_zeros(), 0U) << name;
    }
  }
}

TEST(Decompressor, EveryCutOfSmallFilesGivesTheSameBytes) {
  for (const auto& [name, plain] : whole_files()) {
    const std::string bytes = data(name);
    const std::string expected = data(plain);
    if (bytes.size() > 1000 || expected.size() > 1000) continue;
    const auto decompressor = of_name(name);
    for (const std::size_t room : {1, 2, 7, 4096}) {
      for (std::size_t at = 0; at <= bytes.size(); ++at) {
        const Decoded decoded = decode(*decompressor, cut(bytes, {at}), room);
        ASSERT_FALSE(decoded.error) << name << " at " << at << ": " << decoded.error->message();
        ASSERT_TRUE(decoded.bytes == expected) << name << " at " << at;
      }
      std::vector<std::size_t> everywhere(bytes.size());
      for (std::size_t i = 0; i < bytes.size(); ++i) everywhere[i] = i;
      const Decoded decoded = decode(*decompressor, cut(bytes, everywhere), room);
      ASSERT_FALSE(decoded.error) << name << " byte by byte: " << decoded.error->message();
      ASSERT_TRUE(decoded.bytes == expected) << name;
    }
  }
}

TEST(Decompressor, RandomCutsOfLargeFilesGiveTheSameBytes) {
  const auto files = whole_files();
  EXPECT_TRUE(rc::check("random file, cuts and room", [&] {
    const auto& [name, plain] = *rc::gen::elementOf(files);
    const std::string bytes = data(name);
    const auto cuts = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, bytes.size() + 1));
    const auto room = *rc::gen::element<std::size_t>(511, 4096, 65536, 262144);
    const auto decompressor = of_name(name);
    const Decoded decoded = decode(*decompressor, cut(bytes, cuts), room);
    RC_ASSERT(!decoded.error);
    RC_ASSERT(decoded.bytes == data(plain));
  }));
}

std::string deflated(const std::string& plain, int level, int strategy) {
  z_stream stream{};
  deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 9, strategy);
  std::string out(deflateBound(&stream, plain.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd_compressed(const std::string& plain, int level) {
  std::string out(ZSTD_compressBound(plain.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), plain.data(), plain.size(), level));
  return out;
}

// Content in which matches, runs and literals all occur.
rc::Gen<std::string> content() {
  return rc::gen::map(rc::gen::container<std::vector<std::pair<std::uint8_t, std::uint16_t>>>(
                          rc::gen::arbitrary<std::pair<std::uint8_t, std::uint16_t>>()),
                      [](const std::vector<std::pair<std::uint8_t, std::uint16_t>>& parts) {
                        std::string all;
                        for (const auto& [kind, size] : parts) {
                          if (kind < 100) {
                            all.append(size, static_cast<char>('a' + kind % 4));
                          } else if (kind < 180 && !all.empty()) {
                            all += all.substr(all.size() - std::min<std::size_t>(all.size(), size));
                          } else {
                            for (std::uint16_t i = 0; i < size; ++i)
                              all += static_cast<char>((i * 2654435761U + kind) >> 13U);
                          }
                          if (all.size() > 400'000) break;
                        }
                        return all;
                      });
}

TEST(Decompressor, RandomContentComesBack) {
  EXPECT_TRUE(rc::check("members and frames of random content", [] {
    const auto parts = *rc::gen::resize(8, rc::gen::container<std::vector<std::string>>(content()));
    const bool gzip = *rc::gen::arbitrary<bool>();
    std::string plain;
    std::string compressed;
    for (const std::string& part : parts) {
      plain += part;
      compressed += gzip ? deflated(part, *rc::gen::element(0, 1, 6, 9),
                                    *rc::gen::element(Z_DEFAULT_STRATEGY, Z_FIXED, Z_HUFFMAN_ONLY))
                         : zstd_compressed(part, *rc::gen::element(-5, 1, 3, 12));
    }
    const auto cuts =
        *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, compressed.size() + 1));
    const auto room = *rc::gen::element<std::size_t>(100, 4096, 65536, 262144);
    const auto decompressor = make_decompressor(gzip ? Codec::gzip : Codec::zstd, DecompressorOptions{});
    const Decoded decoded = decode(*decompressor, cut(compressed, cuts), room);
    RC_ASSERT(!decoded.error);
    RC_ASSERT(decoded.bytes == plain);
  }));
}

TEST(Decompressor, C01_ZeroBytesAreAnEmptyStream) {
  for (const Codec codec : kCodecs) {
    if (!codec_is_built(codec)) continue;
    const Decoded decoded = decode(*make_decompressor(codec, DecompressorOptions{}), "");
    EXPECT_FALSE(decoded.error);
    EXPECT_EQ(decoded.bytes, "");
  }
}

TEST(Decompressor, D01_MultiMemberGzip) {
  for (const char* name : {"short.three.gz", "short.hollow.gz"}) {
    const Decoded decoded = decode(*of_name(name), data(name));
    EXPECT_FALSE(decoded.error) << name;
    EXPECT_EQ(decoded.bytes, data("short")) << name;
  }
  const Decoded decoded = decode(*of_name(".gz"), data("tiny.members.gz"));  // ten thousand of one line
  EXPECT_FALSE(decoded.error);
  EXPECT_TRUE(decoded.bytes == data("tiny"));
}

TEST(Decompressor, D04_AnyBeginningOfAStreamButNothingIsTruncated) {
  for (const std::string name : {"short.gz", "short.zst", "short.nocheck.zst", "empty.gz", "empty.zst", "lines.gz",
                                 "lines.zst", "noise.gz", "noise.zst", "zeros.gz", "zeros.zst"}) {
    const std::string bytes = data(name);
    const std::string plain = data(name.substr(0, name.find('.')));
    const auto decompressor = of_name(name);
    std::vector<std::size_t> lengths{1, 5, 10, 12, 17, bytes.size() / 2, bytes.size() - 8, bytes.size() - 1};
    for (std::size_t i = 1; i < bytes.size() && bytes.size() < 1000; ++i) lengths.push_back(i);
    for (const std::size_t length : lengths) {
      if (length >= bytes.size()) continue;
      const Decoded decoded = decode(*decompressor, bytes.substr(0, length));
      ASSERT_TRUE(decoded.error) << name << " cut at " << length;
      EXPECT_EQ(decoded.error->code(), ErrorCode::truncated) << name << " cut at " << length;
      EXPECT_NE(decoded.error->message().find("after " + std::to_string(length) + " bytes"), std::string::npos)
          << decoded.error->message();
      EXPECT_TRUE(plain.starts_with(decoded.bytes)) << name << " cut at " << length;
    }
  }
}

TEST(Decompressor, EverySingleByteOfDamageIsNoticed) {
  for (const std::string name : {"short.gz", "short.header.gz", "short.three.gz", "short.zst"}) {
    const std::string bytes = data(name);
    const std::string plain = data("short");
    const auto decompressor = of_name(name);
    int passed = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (const int flip : {0x01, 0x80, 0xFF}) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ flip);
        const Decoded decoded = decode(*decompressor, damaged);
        // No byte comes out that is not there, however isa-l failed.
        const bool checked = name.ends_with(".gz");
        ASSERT_TRUE(!checked || agrees_with_zlib(decoded.bytes, zlib_decoded(damaged))) << name << " byte " << at;
        // Time, name, extra field and such are nobody's checksum's business; the data is.
        if (!decoded.error) {
          ++passed;
          EXPECT_EQ(decoded.bytes, plain) << name << " byte " << at;
        }
      }
    }
    EXPECT_LT(passed, name == "short.header.gz" ? 1000 : 100) << name;
  }
}

TEST(Decompressor, GzipChecksEachMember) {
  const std::string first = data("short.gz");
  for (const std::size_t from_end : {1U, 4U, 5U, 8U}) {  // length, then CRC, of the first of two members
    std::string bytes = first + first;
    bytes[first.size() - from_end] = static_cast<char>(bytes[first.size() - from_end] ^ 1);
    const Decoded decoded = decode(*of_name(".gz"), bytes);
    ASSERT_TRUE(decoded.error);
    EXPECT_EQ(decoded.error->code(), ErrorCode::corrupt);
    EXPECT_EQ(decoded.error->message(), "the gzip stream is corrupt at byte " + std::to_string(first.size()) +
                                            ": in member 1, which begins at byte 0, its checksum or length does not "
                                            "match its data");
    EXPECT_EQ(decoded.bytes, data("short"));
  }
}

TEST(Decompressor, ZstdChecksEachFrame) {
  std::string bytes = data("short.zst");
  const std::size_t size = bytes.size();
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  const Decoded decoded = decode(*of_name(".zst"), data("short.zst") + bytes);
  ASSERT_TRUE(decoded.error);
  EXPECT_EQ(decoded.error->code(), ErrorCode::corrupt);
  EXPECT_NE(decoded.error->message().find("in frame 2, which begins at byte " + std::to_string(size)),
            std::string::npos)
      << decoded.error->message();
}

TEST(Decompressor, DamageInTheMiddleLosesNothingBeforeIt) {
  // Three blocks of 128 KiB that do not compress, the third one cut off by damage to its header.
  const std::string plain = data("noise");
  std::string zstd = data("noise.zst");
  const std::size_t third_block = zstd.size() - 4 - (plain.size() - 262144) - 3;
  zstd[third_block] = static_cast<char>(zstd[third_block] | 0x06);  // block type 3 is reserved
  for (const std::size_t room : {1000, 1000000}) {
    const Decoded decoded = decode(*of_name(".zst"), zstd, room);
    ASSERT_TRUE(decoded.error);
    EXPECT_EQ(decoded.error->code(), ErrorCode::corrupt);
    EXPECT_EQ(decoded.bytes.size(), 262144U);
    EXPECT_TRUE(plain.starts_with(decoded.bytes));
  }
}

TEST(Decompressor, D11_AWindowOverTheLimitNamesNeedAndOption) {
  const std::string bytes = data("short.long31.zst");
  const Decoded refused = decode(*make_decompressor(Codec::zstd, {.zstd_window_log_max = 27}), bytes);
  ASSERT_TRUE(refused.error);
  EXPECT_EQ(refused.error->code(), ErrorCode::limit);
  EXPECT_EQ(refused.error->message(),
            "the zstd frame at byte 0 needs a window of 2 GiB, more than zstd_window_log_max: 27 allows (128 MiB); set "
            "zstd_window_log_max: 31, which lets a lane use that much memory");
  EXPECT_FALSE(decode(*make_decompressor(Codec::zstd, {.zstd_window_log_max = 27}), data("short.long27.zst")).error);
  // A header alone, made by hand, is refused before anything is allocated for it.
  const std::string claim("\x28\xB5\x2F\xFD\x00\xA8", 6);
  const auto decompressor = make_decompressor(Codec::zstd, {.zstd_window_log_max = 27});
  EXPECT_EQ(decode(*decompressor, claim).error->code(), ErrorCode::limit);
  EXPECT_EQ(decode(*decompressor, cut(claim, {1, 2, 3, 4, 5}), 10).error->code(), ErrorCode::limit);
  // The largest window that the format knows, 2^41 and seven eighths more, is beyond every setting.
  const std::string huge("\x28\xB5\x2F\xFD\x00\xFF", 6);
  const Decoded beyond = decode(*make_decompressor(Codec::zstd, {.zstd_window_log_max = 31}), huge);
  ASSERT_TRUE(beyond.error);
  EXPECT_NE(beyond.error->message().find("no setting allows more than 31"), std::string::npos);
  // With a frame before it, the second frame is named.
  const std::string good = data("short.zst");
  const Decoded second = decode(*decompressor, good + bytes);
  ASSERT_TRUE(second.error);
  EXPECT_EQ(second.bytes, data("short"));
  EXPECT_NE(second.error->message().find("the zstd frame at byte " + std::to_string(good.size())), std::string::npos);
}

TEST(Decompressor, FramesThatNeedADictionaryAreRefusedByName) {
  const Decoded refused = decode(*of_name(".zst"), data("short.dictionary.zst"));
  ASSERT_TRUE(refused.error);
  EXPECT_EQ(refused.error->code(), ErrorCode::not_supported);
  EXPECT_NE(refused.error->message().find("dictionaries are not supported"), std::string::npos);
}

TEST(Decompressor, D12_ZeroPaddingIsCountedAndAnythingElseIsCorrupt) {
  for (const std::string name : {"short.gz", "short.zst"}) {
    const std::string whole = data(name);
    const auto decompressor = of_name(name);
    for (const std::size_t room : {10, 100000}) {
      const Decoded padded = decode(*decompressor, cut(whole + std::string(512, '\0'), {whole.size() + 100}), room);
      EXPECT_FALSE(padded.error);
      EXPECT_EQ(padded.bytes, data("short"));
      EXPECT_EQ(decompressor->trailing_zeros(), 512U);

      for (const std::string& tail : {std::string("garbage"), std::string(512, '\0') + "x", std::string("\x1Fx"),
                                      std::string("(x"), std::string("\x1F"), std::string("(")}) {
        const Decoded garbage = decode(*decompressor, whole + tail, room);
        ASSERT_TRUE(garbage.error) << name << ' ' << tail;
        EXPECT_EQ(garbage.bytes, data("short")) << "the records before are not lost";
        const std::size_t offset = whole.size() + (tail.size() == 513 ? 512 : 0);
        const std::string at = "at byte " + std::to_string(offset);
        if (garbage.error->code() == ErrorCode::corrupt) {
          EXPECT_NE(garbage.error->message().find(at), std::string::npos) << garbage.error->message();
        } else {
          EXPECT_EQ(garbage.error->code(), ErrorCode::truncated) << tail;
        }
      }
    }
  }
}

TEST(Decompressor, ZerosAloneAreNoStream) {
  for (const Codec codec : kCodecs) {
    if (!codec_is_built(codec)) continue;
    const Decoded decoded = decode(*make_decompressor(codec, DecompressorOptions{}), std::string(512, '\0'));
    ASSERT_TRUE(decoded.error);
    EXPECT_EQ(decoded.error->code(), ErrorCode::corrupt);
    EXPECT_NE(decoded.error->message().find("at byte 0"), std::string::npos);
  }
}

TEST(Decompressor, OtherDataIsNamedAsSuch) {
  const Decoded gzip = decode(*of_name(".gz"), "{\"n\":1}\n");
  EXPECT_EQ(gzip.error->message(), "the gzip stream is corrupt at byte 0: not gzip data: the first byte is 7b, not 1f");
  const Decoded zstd = decode(*of_name(".zst"), "{\"n\":1}\n");
  EXPECT_EQ(zstd.error->message(),
            "the zstd stream is corrupt at byte 0: no zstd frame begins here (28 b5 2f fd, or 5x 2a 4d 18)");
}

TEST(Decompressor, ResetAfterAnErrorBeginsAnew) {
  for (const std::string name : {"short.gz", "short.zst", "short.bz2", "short.xz", "short.lz4"}) {
    if (!codec_is_built(codec_of_key(name))) continue;
    const auto decompressor = of_name(name);
    std::string damaged = data(name);
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
    EXPECT_TRUE(decode(*decompressor, damaged).error);
    EXPECT_EQ(decode(*decompressor, data(name)).bytes, data("short"));  // decode() resets
  }
}

}  // namespace
}  // namespace millrace::codec
