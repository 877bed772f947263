// SPDX-License-Identifier: Apache-2.0
// Goal: what cannot hold is refused with its key and the way out, no sink feeds its source, and no secret is shown.
// Method: options by hand.
#include "connectors/iggy/sink_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::iggy_sink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kGood = "address: 127.0.0.1:8090, username: iggy, password: iggy, stream: s, topic: t";

Result<IggySinkOptions> parsed(const std::string& yaml) {
  const auto config = Config::parse("iggy: {" + yaml + "}\n", "p.yaml");
  EXPECT_TRUE(config);
  return IggySink::schema().parse(config->section("iggy"));
}

std::string problem(const std::string& more, const std::string& good = kGood) {
  const auto options = parsed(good + more);
  return options ? std::string() : options.error().message();
}

TEST(IggySinkOptions, WhatIsGood) {
  EXPECT_EQ(problem(""), "");
  EXPECT_EQ(problem(", partitioning: key, key_header: key, create_partitions: 3"), "");
  const auto options = parsed(std::string(kGood) + ", partitioning: {partition: 7}");
  ASSERT_TRUE(options);
  EXPECT_EQ(options->partitioning.kind, IggyPartitioning::Kind::partition);
  EXPECT_EQ(options->partitioning.partition, 7U);
}

TEST(IggySinkOptions, WhatIsNot) {
  for (const char* form :
       {"round", "{partition: x}", "{partition: -1}", "{offset: 1}", "[key]", "{partition: 1, key: 2}"}) {
    EXPECT_THAT(problem(std::string(", partitioning: ") + form),
                AllOf(HasSubstr("iggy.partitioning"), HasSubstr("balanced, key or {partition: 3}")));
  }
  EXPECT_THAT(problem(", partitioning: {partition: 3}, create_partitions: 3"), HasSubstr("has no partition 3"));
  EXPECT_THAT(problem(", key_header: " + std::string(256, 'k')), HasSubstr("iggy.key_header"));
  EXPECT_THAT(problem("", "address: a:1, token: x, stream: '', topic: t"), HasSubstr("iggy.stream"));
  EXPECT_THAT(problem(", protocol_version: 0.12.2"), HasSubstr("0.12.2"));
  EXPECT_THAT(problem(", heartbeat: 5s"), HasSubstr("heartbeat")) << "a key of the source alone";
  EXPECT_THAT(problem(", token: topsecret"), AllOf(HasSubstr("one of the three"), Not(HasSubstr("topsecret"))));
}

IggySourceOptions reads(std::string address, std::string stream, std::vector<std::string> topics) {
  IggySourceOptions options;
  options.address = std::move(address);
  options.stream = std::move(stream);
  options.topics = std::move(topics);
  return options;
}

IggySinkOptions writes(std::string address, std::string topic) {
  IggySinkOptions options;
  options.address = std::move(address);
  options.stream = "s";
  options.topic = std::move(topic);
  return options;
}

TEST(IggySinkOptions, ATopicThatIsReadIsNotWritten) {
  const auto source = reads("localhost:8090", "s", {"t", "u"});
  EXPECT_FALSE(IggySink::check_not_feeding(source, writes("localhost:8090", "u")));
  EXPECT_FALSE(IggySink::check_not_feeding(source, writes("127.0.0.1:8090", "t"))) << "another name of the same";
  EXPECT_FALSE(IggySink::check_not_feeding(reads("Iggy:1", "s", {"t"}), writes("iggy:1", "t")));
  EXPECT_TRUE(IggySink::check_not_feeding(source, writes("localhost:8091", "t")));
  EXPECT_TRUE(IggySink::check_not_feeding(source, writes("localhost:8090", "v")));
  EXPECT_TRUE(IggySink::check_not_feeding(reads("localhost:8090", "other", {"t"}), writes("localhost:8090", "t")));
}

TEST(IggySinkOptions, DeadLettersHaveATopicOfTheirOwn) {
  EXPECT_FALSE(IggySink::check_apart(writes("a:1", "t"), writes("a:1", "t")));
  EXPECT_TRUE(IggySink::check_apart(writes("a:1", "t"), writes("a:1", "u")));
}

}  // namespace
}  // namespace millrace::iggy_sink
