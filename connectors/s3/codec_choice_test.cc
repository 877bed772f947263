// SPDX-License-Identifier: Apache-2.0
// Which codec an object gets; magic numbers are those of RFC 1952 and RFC 8878.
#include "connectors/s3/codec_choice.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::s3_source {
namespace {

const std::string kGzip("\x1f\x8b\x08\0", 4);
const std::string kZstd("\x28\xb5\x2f\xfd", 4);
const std::string kSkippable("\x5a\x2a\x4d\x18", 4);

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
}

TEST(CodecChoice, D06_UnmarkedCompressedBytesAreRefusedWithAHint) {
  EXPECT_NE(refused(kAuto, "part-0001", "", kGzip).find("compression: gzip"), std::string::npos);
  EXPECT_NE(refused(kAuto, "part-0002.json", "", kZstd).find("compression: zstd"), std::string::npos);
  EXPECT_NE(refused(kAuto, "part-0003", "", kSkippable).find("compression: zstd"), std::string::npos);
  EXPECT_EQ(chosen(ObjectCodec::none, "part-0001", "", kGzip), Codec::none);
  EXPECT_EQ(chosen(ObjectCodec::gzip, "part-0001", "", kGzip), Codec::gzip);
}

TEST(CodecChoice, D09_TransportTokensMeanNothingAndOthersAreHonoured) {
  EXPECT_EQ(chosen(kAuto, "a", "aws-chunked", "{}"), Codec::none);
  EXPECT_EQ(chosen(kAuto, "a", "aws-chunked,gzip", kGzip), Codec::gzip);
  EXPECT_EQ(chosen(kAuto, "a", "AWS-Chunked , GZIP", kGzip), Codec::gzip);
  EXPECT_EQ(chosen(kAuto, "a", "identity", "{}"), Codec::none);
  EXPECT_EQ(chosen(kAuto, "a", "zstd", kZstd), Codec::zstd);
  EXPECT_NE(refused(kAuto, "a", "br", "{}").find("'br'"), std::string::npos);
  EXPECT_NE(refused(kAuto, "a", "gzip, gzip", kGzip).find("on top of"), std::string::npos);
  EXPECT_NE(refused(kAuto, "a", "gzip", "{}").find("Content-Encoding says gzip"), std::string::npos);
  EXPECT_EQ(chosen(ObjectCodec::none, "a", "br", "{}"), Codec::none);
}

TEST(CodecChoice, GzipSaidTwiceIsUndoneOnce) { EXPECT_EQ(chosen(kAuto, "a.gz", "gzip", kGzip), Codec::gzip); }

}  // namespace
}  // namespace millrace::s3_source
