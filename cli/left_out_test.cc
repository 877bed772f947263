// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/left_out.h"

namespace millrace::cli {
namespace {

TEST(LeftOut, SaysWhichLibraryIsMissingAndWhereItIsNamed) {
  const auto config = Config::parse("source: {kafka: {brokers: [b]}}", "p.yaml");
  const SourceKind kind = left_out_source("kafka", "librdkafka");
  const auto checked = kind.validate(config->section("source.kafka"));
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message(),
              testing::AllOf(testing::StartsWith("p.yaml:1:"), testing::HasSubstr("source.kafka"),
                             testing::HasSubstr("librdkafka was not found")));
  EXPECT_FALSE(kind.make(config->section("source.kafka"), {}));
}

}  // namespace
}  // namespace millrace::cli
