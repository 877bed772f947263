// SPDX-License-Identifier: Apache-2.0
// Goal: what cannot be is refused when a file is read, with the key, the reason and a way out, and no secret is
// repeated. Method: sections by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connectors/kafka/options.h"
#include "connectors/kafka/properties.h"
#include "millrace/config/config.h"
#include "millrace/config/describe.h"

namespace millrace::kafka {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Result<KafkaSourceOptions> parsed(const std::string& more) {
  const auto config =
      Config::parse("source: {kafka: {brokers: [b:9092], topics: [orders], group: g" + more + "}}", "p.yaml");
  EXPECT_TRUE(config);
  return KafkaSource::schema().parse(config->section("source.kafka"));
}

std::string why_not(const std::string& more) {
  const auto options = parsed(more);
  return options ? "it was taken" : options.error().message();
}

TEST(KafkaOptions, DefaultsAreSafe) {
  const auto options = parsed("");
  ASSERT_TRUE(options) << options.error().message();
  EXPECT_EQ(options->start.kind, StreamStart::Kind::earliest);
  EXPECT_EQ(options->on_position_lost, OnPositionLost::fail);
  EXPECT_EQ(options->isolation, KafkaIsolation::read_committed);
  EXPECT_EQ(options->assignment, KafkaAssignment::cooperative);
  EXPECT_FALSE(options->bounded);
}

TEST(KafkaOptions, StartIsAWordOrOneKey) {
  EXPECT_EQ(parsed(", start: latest")->start.kind, StreamStart::Kind::latest);
  EXPECT_EQ(parsed(", start: {offset: 42}")->start.offset, Offset(42));
  EXPECT_EQ(parsed(", start: {timestamp: 1970-01-01T00:00:01Z}")->start.timestamp, 1'000'000);
  EXPECT_THAT(why_not(", start: beginning"), AllOf(HasSubstr("source.kafka.start"), HasSubstr("earliest")));
}

TEST(KafkaOptions, INV1_WhatWouldStorePositionsIsDeniedWithItsReason) {
  for (const char* name : {"enable.auto.commit", "enable.auto.offset.store", "auto.commit.interval.ms"}) {
    EXPECT_THAT(why_not(std::string(", properties: {") + name + ": \"true\"}"),
                AllOf(HasSubstr(std::string("source.kafka.properties.") + name), HasSubstr("p.yaml:1:"),
                      HasSubstr("stored when its records are durable")));
  }
  EXPECT_THAT(why_not(", properties: {auto.offset.reset: latest}"), HasSubstr("set `start`"));
  EXPECT_THAT(why_not(", properties: {group.id: g}"), HasSubstr("set `group`"));
  EXPECT_THAT(why_not(", properties: {bootstrap.servers: x}"), HasSubstr("set `brokers`"));
  EXPECT_THAT(why_not(", properties: {isolation.level: x}"), HasSubstr("set `isolation`"));
}

TEST(KafkaOptions, AnotherRoleHasAnotherDenylist) {
  EXPECT_TRUE(why_denied("acks", Role::sink));
  EXPECT_FALSE(why_denied("acks", Role::source));
  EXPECT_FALSE(why_denied("enable.auto.commit", Role::sink));
  EXPECT_FALSE(why_denied("sasl.password", Role::source));
}

TEST(KafkaOptions, PropertiesAreCheckedWithoutRepeatingTheirValues) {
  EXPECT_TRUE(parsed(", properties: {security.protocol: SASL_SSL, sasl.password: hunter2, session.timeout.ms: 6000}"));
  EXPECT_THAT(why_not(", properties: {sesion.timeout.ms: hunter2}"),
              AllOf(HasSubstr("has no such property"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(why_not(", properties: {session.timeout.ms: hunter2}"),
              AllOf(HasSubstr("session.timeout.ms: librdkafka refuses this value"), Not(HasSubstr("hunter2"))));
}

TEST(KafkaOptions, PropertiesAreSecretInEveryOutput) {
  EXPECT_TRUE(is_secret_option(KafkaSource::schema().description(), "properties.sasl.password"));
}

TEST(KafkaOptions, NamesThatNoTopicHasAreRefused) {
  for (const char* name : {"^orders-.*", "a b", "..", "a/b"}) {
    KafkaSourceOptions options{.brokers = {"b"}, .topics = {name}, .group = "g"};
    const auto checked = check(options);
    ASSERT_FALSE(checked) << name;
    EXPECT_THAT(checked.error().message(), HasSubstr("is no name of a topic"));
  }
  KafkaSourceOptions twice{.brokers = {"b"}, .topics = {"a", "a"}, .group = "g"};
  EXPECT_THAT(check(twice).error().message(), HasSubstr("'a' stands there twice"));
}

TEST(KafkaOptions, PartitionsAreNumbers) {
  EXPECT_TRUE(parsed(", partitions: [0, 7]"));
  for (const char* number : {"-1", "x", "01", "100000", "1.5"})
    EXPECT_THAT(why_not(std::string(", partitions: [\"") + number + "\"]"), HasSubstr("is no number of a partition"));
}

TEST(KafkaOptions, TheLibraryIsToldWhatPositionsNeed) {
  const KafkaSourceOptions options{.brokers = {"a:1", "b:2"}, .topics = {"t"}, .group = "g"};
  const auto conf = source_conf(options, "line");
  ASSERT_TRUE(conf);
  const auto get = [&](const char* name) {
    char text[256];
    std::size_t size = sizeof text;
    EXPECT_EQ(rd_kafka_conf_get(conf->get(), name, text, &size), RD_KAFKA_CONF_OK) << name;
    return std::string(text);
  };
  EXPECT_EQ(get("enable.auto.commit"), "false");
  EXPECT_EQ(get("enable.auto.offset.store"), "false");
  EXPECT_EQ(get("auto.offset.reset"), "error");
  EXPECT_EQ(get("isolation.level"), "read_committed");
  EXPECT_EQ(get("bootstrap.servers"), "a:1,b:2");
  EXPECT_EQ(get("queued.max.messages.kbytes"), "16384");
  EXPECT_EQ(get("client.id"), "millrace-line");
}

// 25 s of pipeline.drain_timeout, and 10 s.
TEST(KafkaOptions, AMemberMustHaveTimeToDrain) {
  EXPECT_THAT(why_not(", properties: {max.poll.interval.ms: 34999}"),
              AllOf(HasSubstr("source.kafka.properties: max.poll.interval.ms is too short"), HasSubstr("p.yaml:1:"),
                    HasSubstr("pipeline.drain_timeout (25 s if it is not set)"), HasSubstr("stored within 10 s"),
                    HasSubstr("set 35000 or more"), Not(HasSubstr("34999"))));
  EXPECT_TRUE(parsed(", properties: {max.poll.interval.ms: 35000, session.timeout.ms: 6000}"));
}

TEST(KafkaOptions, WhatWouldLoadCodeOrHideTopicsIsDenied) {
  EXPECT_THAT(why_not(", properties: {ssl.engine.location: /tmp/e.so}"), HasSubstr("load code into this process"));
  EXPECT_THAT(why_not(", properties: {plugin.library.paths: /tmp/e.so}"), HasSubstr("load code into this process"));
  EXPECT_THAT(why_not(", properties: {topic.blacklist: orders}"), HasSubstr("hide topics that are asked for"));
}

TEST(KafkaOptions, ATombstoneIsWhatIsAskedFor) {
  EXPECT_EQ(parsed("")->on_tombstone, KafkaTombstone::empty);
  EXPECT_EQ(parsed(", on_tombstone: json_null")->on_tombstone, KafkaTombstone::json_null);
  EXPECT_EQ(parsed(", on_tombstone: skip")->on_tombstone, KafkaTombstone::skip);
}

}  // namespace
}  // namespace millrace::kafka
