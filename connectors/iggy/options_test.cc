// SPDX-License-Identifier: Apache-2.0
// What the keys may say.
#include "connectors/iggy/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::iggy_source {
namespace {

using ::testing::HasSubstr;

std::string problem(const std::string& yaml) {
  const auto config = Config::parse("iggy: {" + yaml + "}\n", "p.yaml");
  EXPECT_TRUE(config);
  const auto valid = IggySource::kind().validate(config->section("iggy"));
  return valid ? std::string() : valid.error().message();
}

constexpr const char* kGood = "address: 127.0.0.1:8090, username: iggy, password: iggy, stream: s, topics: [a, b]";

TEST(IggyOptions, WhatIsGood) {
  EXPECT_EQ(problem(std::string(kGood) + ", consumer_group: g"), "");
  EXPECT_EQ(problem(std::string(kGood) + ", consumer_group: g, member: m, protocol: vsr, start: latest"), "");
  EXPECT_EQ(problem(std::string(kGood) + ", consumer: \"7\", partitions: [0, 1], start: {offset: 5}"), "");
}

TEST(IggyOptions, WhatIsNot) {
  const std::string good = kGood;
  EXPECT_THAT(problem(good), HasSubstr("iggy.consumer_group: give consumer_group"));
  EXPECT_THAT(problem(good + ", consumer_group: g, consumer: c"), HasSubstr("iggy.consumer_group"));
  EXPECT_THAT(problem(good + ", consumer_group: g, partitions: [0]"), HasSubstr("iggy.partitions: is for consumer"));
  EXPECT_THAT(problem(good + ", consumer: c, partitions: [x]"), HasSubstr("lists numbers"));
  EXPECT_THAT(problem(good + ", consumer: c, member: m"), HasSubstr("iggy.member"));
  EXPECT_THAT(problem(good + ", consumer: c, protocol_version: 0.12.2"), HasSubstr("0.12.2"));
  EXPECT_THAT(problem(good + ", consumer: c, protocol_version: eleven"), HasSubstr("no protocol version"));
  EXPECT_THAT(problem(good + ", consumer: c, token: x"), HasSubstr("one of the three"));
  EXPECT_THAT(problem("address: here, token: x, stream: s, topics: [a, a], consumer: c"), HasSubstr("twice"));
  EXPECT_THAT(problem("address: here, token: x, stream: s, topics: [a], consumer: c"), HasSubstr("no address"));
  EXPECT_THAT(problem("address: a:1, token: topsecret, username: u, stream: s, topics: [a], consumer: c"),
              ::testing::Not(HasSubstr("topsecret")));
}

TEST(IggyOptions, AMemberIsWhoItsNameSays) {
  IggySourceOptions options;
  options.consumer_group = "g";
  EXPECT_FALSE(member_id(options));
  options.member = "a";
  const auto a = member_id(options);
  EXPECT_EQ(a, member_id(options));
  options.member = "b";
  EXPECT_NE(a, member_id(options));
}

}  // namespace
}  // namespace millrace::iggy_source
