// SPDX-License-Identifier: Apache-2.0
// A build that found none of the optional libraries: optional_codecs.cc is compiled here once more as it would be
// there, and stands in for the one of the codec library.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "connectors/s3/compressed_by.h"
#include "connectors/s3/options.h"
#include "connectors/s3/source_fixture.h"
#include "millrace/config/describe.h"

namespace millrace::s3_source {
namespace {

struct Missing {
  ObjectCodec setting;
  const char* name;
  const char* library;
  const char* command;
};
constexpr std::array kMissing{Missing{ObjectCodec::bz2, "bz2", "libbz2", "bzip2 -c"},
                              Missing{ObjectCodec::xz, "xz", "liblzma", "xz -c"},
                              Missing{ObjectCodec::lz4, "lz4", "liblz4", "lz4 -q -c"}};

class WithoutCodecs : public SourceTest {};

TEST_F(WithoutCodecs, GzipAndZstdAreThereAlways) {
  EXPECT_EQ(compressors().size(), 2U);
  EXPECT_TRUE(codec_is_built(Codec::none));
}

TEST_F(WithoutCodecs, TheSettingIsRefusedAtLoad) {
  for (const Missing& missing : kMissing) {
    S3SourceOptions options;
    options.url = "s3://b/in/";
    options.checkpoint.url = "s3://b/ck.json";
    options.compression = missing.setting;
    const auto settings = settle(options);
    ASSERT_FALSE(settings);
    EXPECT_EQ(settings.error().code(), ErrorCode::config);
    for (const auto& part : {fmt::format("source.s3.compression: this build cannot read {}", missing.name),
                             fmt::format("{} was not found", missing.library)}) {
      EXPECT_NE(settings.error().message().find(part), std::string::npos) << settings.error().message();
    }
  }
}

TEST_F(WithoutCodecs, AutoFailsWithKeyAndHint) {
  for (const Missing& missing : kMissing) {
    for (const bool by_name : {true, false}) {
      const std::string name = by_name ? fmt::format("in/a.{}", missing.name) : "in/part-0001";
      memory = std::make_shared<testing::MemoryStore>();
      memory->set(name, output_of(missing.command, "1\n2\n"));
      BackfillRig run(memory);
      const auto ended = run.run();
      ASSERT_FALSE(ended);
      EXPECT_TRUE(run.records.empty());
      EXPECT_NE(message_of(ended).find("s3://b/" + name), std::string::npos) << message_of(ended);
      const std::string hint = by_name ? fmt::format("Install {} with its headers", missing.library)
                                       : fmt::format("its bytes begin like {}", missing.name);
      EXPECT_NE(message_of(ended).find(hint), std::string::npos) << message_of(ended);
      EXPECT_FALSE(stored().complete);
    }
  }
}

TEST_F(WithoutCodecs, DescribeSaysSo) {
  EXPECT_NE(describe_text(S3Source::schema().description())
                .find("Left out of this build, whose libraries were not found: bz2, xz, lz4."),
            std::string::npos);
}

}  // namespace
}  // namespace millrace::s3_source
