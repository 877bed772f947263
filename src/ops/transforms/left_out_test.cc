// SPDX-License-Identifier: Apache-2.0
// A build without libjq and RE2 refuses what needs them, and says what to do. Linked with what takes their place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/transforms/jq_program.h"
#include "ops/transforms/regex.h"

namespace millrace::transforms {
namespace {

using ::testing::HasSubstr;

TEST(LeftOut, IsRefusedWithAWayOut) {
  EXPECT_FALSE(JqProgram::built_in());
  const auto jq = JqProgram::make({"."});
  ASSERT_FALSE(jq.has_value());
  EXPECT_EQ(jq.error().code(), ErrorCode::config);
  EXPECT_THAT(jq.error().message(), HasSubstr("Install libjq with its headers and build again"));
  const auto regex = Regex::make("a");
  ASSERT_FALSE(regex.has_value());
  EXPECT_EQ(regex.error().code(), ErrorCode::config);
  EXPECT_THAT(regex.error().message(), HasSubstr("Install libre2"));
}

}  // namespace
}  // namespace millrace::transforms
