// SPDX-License-Identifier: Apache-2.0
// Which codec bytes and keys tell of. Expected values: the magic numbers of the formats' own documents, and files of
// the programs.
#include <gtest/gtest.h>

#include <filesystem>

#include "codec/stream_testing.h"
#include "millrace/codec/decompressor.h"

namespace millrace::codec {
namespace {

std::string data(const std::string& name) { return file_bytes(std::filesystem::path(MILLRACE_CODEC_TEST_DATA) / name); }

TEST(Magic, D06_TheFirstBytesTellTheCodec) {
  EXPECT_EQ(codec_of_magic("\x1F\x8B"), Codec::gzip);
  EXPECT_EQ(codec_of_magic("\x28\xB5\x2F\xFD"), Codec::zstd);
  EXPECT_EQ(codec_of_magic("\x5F\x2A\x4D\x18"), Codec::zstd);
  EXPECT_EQ(codec_of_magic("BZh91AY&SY"), Codec::bz2);
  EXPECT_EQ(codec_of_magic("BZh1\x17\x72\x45\x38\x50\x90"), Codec::bz2);
  EXPECT_EQ(codec_of_magic(std::string_view("\xFD"
                                            "7zXZ\0",
                                            6)),
            Codec::xz);
  EXPECT_EQ(codec_of_magic("\x04\x22\x4D\x18"), Codec::lz4);
  EXPECT_EQ(codec_of_magic("\x02\x21\x4C\x18"), Codec::lz4) << "the legacy format is no text either";
  for (const char* name : {"short", "empty", "noise", "zeros"}) {
    for (const auto& [ending, codec] :
         {std::pair(".gz", Codec::gzip), std::pair(".zst", Codec::zstd), std::pair(".bz2", Codec::bz2),
          std::pair(".xz", Codec::xz), std::pair(".lz4", Codec::lz4)}) {
      EXPECT_EQ(codec_of_magic(data(std::string(name) + ending).substr(0, 16)), codec) << name << ending;
    }
  }
  EXPECT_EQ(codec_of_magic(data("short.skippable.zst")), Codec::zstd);
}

TEST(Magic, D06_TextIsNotTakenForACodec) {
  for (const char* plain : {"", "{", "\x1F", "{\"n\":1}\n", "(not zstd)", "P*M", "\x28\xB5\x2F", "\x60\x2A\x4D\x18",
                            "BZh", "BZh9", "BZh9,1,2,3,4,5", "BZh01AY&SY",
                            "\xFD"
                            "7zXZ",
                            "\x04\x22\x4D", "\x04\x22\x4D\x19"}) {
    EXPECT_EQ(codec_of_magic(plain), std::nullopt) << plain;
  }
}

TEST(Magic, D04_ABeginningThatIsCutMayStillBeTheCodecs) {
  for (const Codec codec : kCodecs) {
    EXPECT_TRUE(may_begin(codec, ""));
    EXPECT_FALSE(may_begin(codec, "{"));
    EXPECT_FALSE(may_begin(codec, "{\"n\":1}\n"));
    const char* ending = codec == Codec::gzip ? "gz" : codec == Codec::zstd ? "zst" : to_string(codec).data();
    const std::string whole = data(std::string("short.") + ending);
    for (std::size_t size = 1; size <= 20; ++size) {
      EXPECT_TRUE(may_begin(codec, whole.substr(0, size))) << to_string(codec) << ' ' << size;
    }
  }
  for (const char* skippable : {"\x50", "\x5A\x2A", "\x5F\x2A\x4D\x18"}) {
    EXPECT_TRUE(may_begin(Codec::zstd, skippable) && may_begin(Codec::lz4, skippable));
  }
  EXPECT_FALSE(may_begin(Codec::bz2, "BZh91AX"));
  EXPECT_FALSE(may_begin(Codec::bz2, "BZh0"));
  EXPECT_FALSE(may_begin(Codec::lz4, "\x04\x22\x4E"));
}

TEST(Magic, TheEndOfTheKeyTellsTheCodec) {
  EXPECT_EQ(codec_of_key("in/a.ndjson.gz"), Codec::gzip);
  EXPECT_EQ(codec_of_key("in/a.gzip"), Codec::gzip);
  EXPECT_EQ(codec_of_key("a.zst"), Codec::zstd);
  EXPECT_EQ(codec_of_key("a.zstd"), Codec::zstd);
  EXPECT_EQ(codec_of_key("a.bz2"), Codec::bz2);
  EXPECT_EQ(codec_of_key("a.json.xz"), Codec::xz);
  EXPECT_EQ(codec_of_key("a.lz4"), Codec::lz4);
  for (const char* key : {"", "a", "gz", "xz", "a.gz/b", "a.GZ", "a.gz2", "a.zst.json", "a.bz", "a.lz"}) {
    EXPECT_EQ(codec_of_key(key), Codec::none) << key;
  }
}

}  // namespace
}  // namespace millrace::codec
