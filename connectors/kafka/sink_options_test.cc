// SPDX-License-Identifier: Apache-2.0
// Goal: a record is acknowledged by every replica in sync whatever the file says, and a sink does not feed its source.
// Method: options by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connectors/kafka/options.h"
#include "millrace/config/config.h"

namespace millrace::kafka {
namespace {

using testing::HasSubstr;

std::string why_not(const std::string& more) {
  const auto config = Config::parse("sink: {kafka: {brokers: [b:9092], topic: orders" + more + "}}", "p.yaml");
  EXPECT_TRUE(config);
  const auto options = KafkaSink::schema().parse(config->section("sink.kafka"));
  return options ? "it was taken" : options.error().message();
}

TEST(KafkaSinkOptions, INV1_WhatWouldAcknowledgeTooEarlyIsDenied) {
  EXPECT_EQ(why_not(""), "it was taken");
  for (const char* name : {"acks", "request.required.acks", "enable.idempotence"}) {
    EXPECT_THAT(why_not(std::string(", properties: {") + name + ": \"1\"}"),
                HasSubstr("acknowledged when every replica in sync has it"));
  }
  EXPECT_THAT(why_not(", properties: {message.max.bytes: 5}"), HasSubstr("set `max_record_bytes`"));
  EXPECT_THAT(why_not(", properties: {linger.ms: 5, sasl.username: me}"), HasSubstr("it was taken"));
}

TEST(KafkaSinkOptions, TheLibraryIsToldToBeSure) {
  const KafkaSinkOptions options{.brokers = {"a:1"}, .topic = "t"};
  const auto conf = sink_conf(options, "line");
  ASSERT_TRUE(conf) << conf.error().message();
  const auto get = [&](const char* name) {
    char text[256];
    std::size_t size = sizeof text;
    EXPECT_EQ(rd_kafka_conf_get(conf->get(), name, text, &size), RD_KAFKA_CONF_OK) << name;
    return std::string(text);
  };
  EXPECT_EQ(get("enable.idempotence"), "true");
  EXPECT_EQ(get("message.max.bytes"), "1001024");
  EXPECT_EQ(get("linger.ms"), "0");
}

TEST(KafkaSinkOptions, ATopicThatIsReadIsNotWritten) {
  const KafkaSourceOptions source{.brokers = {"a:1", "b:2"}, .topics = {"t", "u"}, .group = "g"};
  EXPECT_FALSE(KafkaSink::check_not_feeding(source, {.brokers = {"b:2"}, .topic = "u"}));
  EXPECT_TRUE(KafkaSink::check_not_feeding(source, {.brokers = {"b:2"}, .topic = "v"}));
  EXPECT_TRUE(KafkaSink::check_not_feeding(source, {.brokers = {"c:3"}, .topic = "u"}));
}

}  // namespace
}  // namespace millrace::kafka
