// SPDX-License-Identifier: Apache-2.0
// Goal: a record is acknowledged by every replica in sync whatever the file says, and a sink does not feed its source.
// Method: options by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

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
  EXPECT_THAT(why_not(", properties: {linger.ms: 5}"), HasSubstr("set `linger`"));
  EXPECT_THAT(why_not(", properties: {retries: 0}"), HasSubstr("keep their order"));
  EXPECT_THAT(why_not(", properties: {queuing.strategy: lifo}"), HasSubstr("in their order"));
  EXPECT_THAT(why_not(", properties: {allow.auto.create.topics: true}"), HasSubstr("misspelt"));
  EXPECT_THAT(why_not(", properties: {max.in.flight: 6}"), HasSubstr("5 at most"));
  EXPECT_THAT(why_not(", properties: {max.in.flight: 5, sasl.username: me}"), HasSubstr("it was taken"));
}

std::map<std::string, std::string> told(const KafkaSinkOptions& options) {
  const auto conf = sink_conf(options, "line");
  EXPECT_TRUE(conf) << conf.error().message();
  std::map<std::string, std::string> all;
  for (const char* name : {"enable.idempotence", "acks", "message.timeout.ms", "message.max.bytes", "batch.size",
                           "linger.ms", "allow.auto.create.topics", "reconnect.backoff.max.ms", "compression.codec"}) {
    char text[256];
    std::size_t size = sizeof text;
    EXPECT_EQ(rd_kafka_conf_get(conf->get(), name, text, &size), RD_KAFKA_CONF_OK) << name;
    all[name] = text;
  }
  return all;
}

TEST(KafkaSinkOptions, INV1_TheLibraryIsToldToBeSure) {
  KafkaSinkOptions options{.brokers = {"a:1"}, .topic = "t", .compression = KafkaCompression::lz4};
  auto all = told(options);
  EXPECT_EQ(all["enable.idempotence"], "true");
  EXPECT_EQ(all["acks"], "-1");
  EXPECT_EQ(all["message.timeout.ms"], "0");  // never given up
  EXPECT_EQ(all["message.max.bytes"], "1001024");
  EXPECT_EQ(all["linger.ms"], "0");
  EXPECT_EQ(all["allow.auto.create.topics"], "false");
  EXPECT_EQ(all["reconnect.backoff.max.ms"], "500");
  EXPECT_EQ(all["compression.codec"], "lz4");
  options.on_write_failure = OnWriteFailure::fail;
  options.write_timeout = std::chrono::seconds(7);
  EXPECT_EQ(told(options)["message.timeout.ms"], "7000");
}

// max.message.bytes of a topic bounds what is sent together.
TEST(KafkaSinkOptions, WhatIsSentTogetherIsNoLargerThanOneRecordMayBe) {
  KafkaSinkOptions options{.brokers = {"a:1"}, .topic = "t"};
  EXPECT_EQ(told(options)["batch.size"], "998976");
  options.max_record_bytes.bytes = 1000;
  EXPECT_EQ(told(options)["batch.size"], "500");
  options.max_record_bytes.bytes = 50'000'000;
  EXPECT_EQ(told(options)["batch.size"], "1000000");
}

TEST(KafkaSinkOptions, ATopicThatIsReadIsNotWritten) {
  const KafkaSourceOptions source{.brokers = {"a:1", "b:2"}, .topics = {"t", "u"}, .group = "g"};
  EXPECT_FALSE(KafkaSink::check_not_feeding(source, {.brokers = {"b:2"}, .topic = "u"}));
  EXPECT_TRUE(KafkaSink::check_not_feeding(source, {.brokers = {"b:2"}, .topic = "v"}));
  EXPECT_TRUE(KafkaSink::check_not_feeding(source, {.brokers = {"c:3"}, .topic = "u"}));
}

}  // namespace
}  // namespace millrace::kafka
