// SPDX-License-Identifier: Apache-2.0
// Which codec an object gets; magic numbers are those of RFC 1952, RFC 8878 and the formats of bzip2, xz and lz4.
#include "connectors/s3/codec_choice.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::s3_source {
namespace {

const std::string kGzip("\x1f\x8b\x08\0", 4);
const std::string kZstd("\x28\xb5\x2f\xfd", 4);
const std::string kSkippable("\x5a\x2a\x4d\x18", 4);
const std::string kBz2 = "BZh91AY&SY\1";
const std::string kXz("\xfd\x37\x7a\x58\x5a\0\0\4", 8);
const std::string kLz4("\x04\x22\x4d\x18", 4);

Codec chosen(ObjectCodec setting, std::string_view key, std::string_view encoding, std::string_view bytes) {
  const auto codec = choose_codec(setting, key, encoding, bytes);
  EXPECT_TRUE(codec) << codec.error().message();
  return codec.value_or(Codec::none);
}
std::string refused(ObjectCodec setting, std::string_view key, std::string_view encoding, std::string_view bytes) {
  const auto codec = choose_codec(setting, key, encoding, bytes);
  EXPECT_FALSE(codec);
  return codec ? "" : codec.error().message();
}

constexpr auto kAuto = ObjectCodec::auto_detect;

TEST(CodecChoice, AutoGoesByExtensionAndAgreesWithTheBytes) {
  EXPECT_EQ(chosen(kAuto, "a.ndjson.gz", "", kGzip), Codec::gzip);
  EXPECT_EQ(chosen(kAuto, "a.gzip", "", kGzip), Codec::gzip);
  EXPECT_EQ(chosen(kAuto, "a.zst", "", kZstd), Codec::zstd);
  EXPECT_EQ(chosen(kAuto, "a.zstd", "", kSkippable), Codec::zstd);
  EXPECT_EQ(chosen(kAuto, "a.bz2", "", kBz2), Codec::bz2);
  EXPECT_EQ(chosen(kAuto, "a.xz", "", kXz), Codec::xz);
  EXPECT_EQ(chosen(kAuto, "a.lz4", "", kLz4), Codec::lz4);
  EXPECT_EQ(chosen(kAuto, "a.lz4", "", kSkippable), Codec::lz4);
  EXPECT_EQ(chosen(kAuto, "a.ndjson", "", "{\"n\":1}"), Codec::none);
  EXPECT_EQ(chosen(kAuto, "a", "", "x"), Codec::none);
}

TEST(CodecChoice, AGzThatIsNotGzipSaysSo) {
  EXPECT_NE(refused(kAuto, "a.gz", "", "{\"n\":1}").find("not gzip"), std::string::npos);
  EXPECT_NE(refused(kAuto, "a.zst", "", kGzip).find("not zstd"), std::string::npos);
  EXPECT_NE(refused(ObjectCodec::gzip, "a", "", "{}").find("compression: gzip"), std::string::npos);
}

TEST(CodecChoice, D04_ACutMagicNumberIsLeftToTheDecompressor) {
  EXPECT_EQ(chosen(kAuto, "a.gz", "", "\x1f"), Codec::gzip);
  EXPECT_EQ(chosen(kAuto, "a.zst", "", "\x28\xb5"), Codec::zstd);
  EXPECT_EQ(chosen(kAuto, "a.zst", "", "\x5a"), Codec::zstd);
  EXPECT_FALSE(choose_codec(kAuto, "a.gz", "", "x"));
  EXPECT_EQ(chosen(kAuto, "a.bz2", "", "BZh"), Codec::bz2);
  EXPECT_EQ(chosen(kAuto, "a.xz", "", "\xfd\x37"), Codec::xz);
  EXPECT_EQ(chosen(kAuto, "a.lz4", "", "\x04"), Codec::lz4);
}

TEST(CodecChoice, D06_UnmarkedCompressedBytesAreRefusedWithAHint) {
  EXPECT_NE(refused(kAuto, "part-0001", "", kGzip).find("compression: gzip"), std::string::npos);
  EXPECT_NE(refused(kAuto, "part-0002.json", "", kZstd).find("compression: zstd"), std::string::npos);
  EXPECT_NE(refused(kAuto, "part-0003", "", kSkippable).find("compression: zstd"), std::string::npos);
  EXPECT_NE(refused(kAuto, "part-0003", "", kSkippable).find("(or lz4)"), std::string::npos);
  EXPECT_NE(refused(kAuto, "part-0004", "", kBz2).find("compression: bz2"), std::string::npos);
  EXPECT_NE(refused(kAuto, "part-0005.csv", "", kXz).find("ends in .xz"), std::string::npos);
  EXPECT_NE(refused(kAuto, "part-0006", "", kLz4).find("compression: lz4"), std::string::npos);
  EXPECT_EQ(chosen(kAuto, "part-0007", "", "BZh9 is text"), Codec::none);
  EXPECT_EQ(chosen(ObjectCodec::none, "part-0001", "", kGzip), Codec::none);
  EXPECT_EQ(chosen(ObjectCodec::gzip, "part-0001", "", kGzip), Codec::gzip);
}

TEST(CodecChoice, D09_TransportTokensMeanNothingAndOthersAreHonoured) {
  EXPECT_EQ(chosen(kAuto, "a", "aws-chunked", "{}"), Codec::none);
  EXPECT_EQ(chosen(kAuto, "a", "aws-chunked,gzip", kGzip), Codec::gzip);
  EXPECT_EQ(chosen(kAuto, "a", "AWS-Chunked , GZIP", kGzip), Codec::gzip);
  EXPECT_EQ(chosen(kAuto, "a", "identity", "{}"), Codec::none);
  EXPECT_EQ(chosen(kAuto, "a", "zstd", kZstd), Codec::zstd);
  EXPECT_EQ(chosen(kAuto, "a", "x-gzip", kGzip), Codec::gzip);
  EXPECT_EQ(chosen(kAuto, "a", "bzip2", kBz2), Codec::bz2);
  EXPECT_EQ(chosen(kAuto, "a", "x-bzip2", kBz2), Codec::bz2);
  EXPECT_EQ(chosen(kAuto, "a", "xz,", kXz), Codec::xz);
  EXPECT_EQ(chosen(kAuto, "a", "aws-chunked, x-lz4", kLz4), Codec::lz4);
  EXPECT_NE(refused(kAuto, "a", "br", "{}").find("'br'"), std::string::npos);
  EXPECT_NE(refused(kAuto, "a", "gzip, gzip", kGzip).find("on top of"), std::string::npos);
  EXPECT_NE(refused(kAuto, "a", "gzip", "{}").find("Content-Encoding says gzip"), std::string::npos);
  EXPECT_EQ(chosen(ObjectCodec::none, "a", "br", "{}"), Codec::none);
}

TEST(CodecChoice, D09_GzipSaidTwiceIsUndoneOnce) { EXPECT_EQ(chosen(kAuto, "a.gz", "gzip", kGzip), Codec::gzip); }

// Each lie with what it says, what the bytes are, and a way out that fits who told it.
TEST(CodecChoice, D06_EachLieIsToldWithItsWayOut) {
  EXPECT_EQ(
      refused(kAuto, "a.gz", "", "{\"n\":1}"),
      "its name ends like gzip, but its bytes are not gzip: store it under a name that does not end in .gz, or set "
      "compression: none to take the bytes as they are");
  EXPECT_EQ(
      refused(kAuto, "a.gz", "", kZstd),
      "its name ends like gzip, but its bytes are not gzip; they begin like zstd: store it under a name that ends "
      "in .zst, or set compression: zstd if all objects are");
  EXPECT_EQ(refused(kAuto, "a", "gzip", "{\"n\":1}"),
            "its Content-Encoding says gzip, but its bytes are not gzip: store it without that header, or set "
            "compression: none to take the bytes as they are");
  EXPECT_EQ(
      refused(kAuto, "a", "gzip", kXz),
      "its Content-Encoding says gzip, but its bytes are not gzip; they begin like xz: put the header right, or set "
      "compression: xz if all objects are");
  EXPECT_EQ(refused(kAuto, "a.gz", "zstd", kZstd),
            "its name ends like gzip and its Content-Encoding says zstd, but its bytes are not gzip; they begin like "
            "zstd: store it under a name that ends in .zst, or set compression: zstd if all objects are");
  EXPECT_EQ(
      refused(ObjectCodec::bz2, "a.bz2", "", kGzip),
      "compression: bz2 holds for every object, but its bytes are not bz2; they begin like gzip: set compression: "
      "auto to decide for each object, or leave it out with exclude");
  EXPECT_EQ(
      refused(kAuto, "a", "", kGzip),
      "its bytes begin like gzip, but neither its name nor a Content-Encoding says so: store it under a name that "
      "ends in .gz, set compression: gzip if all objects are, or none to take the bytes as they are");
}

}  // namespace
}  // namespace millrace::s3_source
