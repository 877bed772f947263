// SPDX-License-Identifier: Apache-2.0
// A position means something under the settings that it was made with only (F09): others are refused field by field,
// and nothing is read or written.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "connectors/s3/source_fixture.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::StoreOp;

class ChangedSettings : public SourceTest {
 protected:
  /// A run that stopped half way, then another with changed options.
  std::string after(const std::function<void(S3SourceOptions&)>& change) {
    fill(10);
    fill(10, 3, "other/");
    BackfillRig first(memory);
    EXPECT_TRUE(first.open());
    EXPECT_TRUE(first.poll_records(12));
    EXPECT_TRUE(first.commit());
    first.close();
    const auto before = memory->contents();
    memory->clear_requests();
    BackfillRig second(memory);
    change(second.options);
    const auto run = second.run();
    EXPECT_FALSE(run);
    EXPECT_TRUE(second.records.empty());
    EXPECT_EQ(memory->contents(), before);
    EXPECT_EQ(memory->count(StoreOp::read), 0U);
    EXPECT_NE(message_of(run).find("--reset"), std::string::npos);
    EXPECT_NE(message_of(run).find("s3://b/ck/manifest.json"), std::string::npos);
    return message_of(run);
  }
};

TEST_F(ChangedSettings, F09_Prefix) {
  EXPECT_NE(after([](auto& o) { o.url = "s3://b/other/"; }).find("url was s3://b/in/ and is s3://b/other/ now"),
            std::string::npos);
}
TEST_F(ChangedSettings, F09_Lanes) {
  EXPECT_NE(after([](auto& o) { o.lanes = 3; }).find("lanes was 4 and is 3 now"), std::string::npos);
}
TEST_F(ChangedSettings, F09_Filter) {
  EXPECT_NE(after([](auto& o) { o.exclude = {"x"}; }).find("exclude was [] and is [\"x\"] now"), std::string::npos);
}
TEST_F(ChangedSettings, F09_Codec) {
  EXPECT_NE(after([](auto& o) { o.compression = ObjectCodec::none; }).find("compression was auto and is none now"),
            std::string::npos);
}
TEST_F(ChangedSettings, F09_StartAfter) {
  EXPECT_NE(after([](auto& o) { o.start_after = "in/o001"; }).find("start_after was  and is in/o001 now"),
            std::string::npos);
}

TEST_F(ChangedSettings, F09_Sizes) {
  EXPECT_NE(after([](auto& o) { o.min_size = ByteSize{1024}; }).find("min_size was not set and is 1024 now"),
            std::string::npos);
  EXPECT_NE(after([](auto& o) { o.max_size = ByteSize{1U << 20U}; }).find("max_size was not set and is 1048576 now"),
            std::string::npos);
}
TEST_F(ChangedSettings, F09_Times) {
  EXPECT_NE(after([](auto& o) {
              o.modified_after = "2026-07-01T02:00:00+02:00";
            }).find("modified_after was not set and is 2026-07-01T00:00:00.000000Z now"),
            std::string::npos);
  EXPECT_NE(after([](auto& o) {
              o.modified_before = "2999-01-01T00:00:00Z";
            }).find("modified_before was not set and is 2999-01-01T00:00:00.000000Z now"),
            std::string::npos);
}
TEST_F(SourceTest, F09_TheSameLimitsInOtherWordsGoOn) {
  fill(4);
  BackfillRig first(memory);
  first.options.min_size = ByteSize{1};
  first.options.modified_after = "2001-01-01T01:00:00+01:00";
  ASSERT_TRUE(first.open());
  ASSERT_TRUE(first.poll_records(6));
  ASSERT_TRUE(first.commit());
  first.close();
  BackfillRig second(memory);
  second.options.min_size = ByteSize{1};
  second.options.modified_after = "2001-01-01T00:00:00.000Z";
  ASSERT_EQ(message_of(second.run()), "succeeded");
  EXPECT_EQ(second.records.size(), 6U);
  BackfillRig without(memory);
  without.options.modified_after = "2001-01-01T00:00:00Z";
  EXPECT_NE(message_of(without.run()).find("min_size was 1 and is not set now"), std::string::npos);
}

}  // namespace
}  // namespace millrace::s3_source
