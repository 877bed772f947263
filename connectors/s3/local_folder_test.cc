// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/local_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace millrace::s3_source {
namespace {

using ::testing::HasSubstr;

class LocalFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "local-folder-XXXXXX").string();
    root = ::mkdtemp(pattern.data());
    std::filesystem::create_directories(root + "/in");
    std::filesystem::create_directories(root + "/in2");
    std::ofstream(root + "/in/part-1.ndjson") << "{}\n";
  }
  void TearDown() override { std::filesystem::remove_all(root); }
  Result<void> check(const std::string& below) {
    return check_local_folder(*StoreUrl::parse("file://" + root + below));
  }
  std::string root;
};

TEST_F(LocalFolder, AFolderAndAPrefixOfNamesInItPass) {
  EXPECT_TRUE(check("/in/"));
  EXPECT_TRUE(check("/in/part-"));
  EXPECT_TRUE(check("/in/none-yet"));
  EXPECT_TRUE(check_local_folder(*StoreUrl::parse("s3://bucket/none/")));
}

TEST_F(LocalFolder, AFolderThatIsNotThereIsAnErrorAndNoEmptyRun) {
  const auto missing = check("/inn/");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::not_found);
  EXPECT_THAT(missing.error().message(), HasSubstr("there is no folder " + root + "/inn/"));
}

TEST_F(LocalFolder, AFolderWithoutItsSlashWouldTakeItsNeighbours) {
  const auto open_ended = check("/in");
  ASSERT_FALSE(open_ended);
  EXPECT_EQ(open_ended.error().code(), ErrorCode::config);
  EXPECT_THAT(open_ended.error().message(), HasSubstr("write file://" + root + "/in/"));
}

}  // namespace
}  // namespace millrace::s3_source
