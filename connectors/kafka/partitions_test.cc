// SPDX-License-Identifier: Apache-2.0
// Goal: no two partitions have one number, and a failure has one class. Method: by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connectors/kafka/failures.h"
#include "connectors/kafka/partitions.h"

namespace millrace::kafka {
namespace {

TEST(KafkaPartitions, TheFirstTopicKeepsItsNumbers) {
  const PartitionNumbers numbers({"orders", "items"});
  EXPECT_EQ(numbers.id_of({"orders", 0}), PartitionId(0));
  EXPECT_EQ(numbers.id_of({"orders", 99'999}), PartitionId(99'999));
  EXPECT_EQ(numbers.id_of({"items", 0}), PartitionId(100'000));
  EXPECT_EQ(numbers.id_of({"items", 3}), PartitionId(100'003));
  EXPECT_FALSE(numbers.id_of({"orders", 100'000}));
  EXPECT_FALSE(numbers.id_of({"orders", -1}));
  EXPECT_FALSE(numbers.id_of({"others", 0}));
}

TEST(KafkaPartitions, TheLastTopicFitsInANumber) {
  std::vector<std::string> topics(kMostTopics);
  for (std::size_t i = 0; i < topics.size(); ++i) topics[i] = std::to_string(i);
  EXPECT_EQ(PartitionNumbers(topics).id_of({std::to_string(kMostTopics - 1), 99'999}), PartitionId(3'999'999'999U));
}

TEST(KafkaFailures, WhatPassesIsRetriedAndWhatDoesNotSaysAWayOut) {
  EXPECT_TRUE(error_of(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, "x").is_retryable());
  EXPECT_TRUE(error_of(RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, "x").is_retryable());
  const Error refused = error_of(RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, "connecting");
  EXPECT_TRUE(refused.is_fatal());
  EXPECT_EQ(refused.code(), ErrorCode::credentials);
  EXPECT_THAT(refused.message(), testing::HasSubstr("sasl.password"));
  EXPECT_THAT(error_of(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, "reading").message(),
              testing::HasSubstr("allow this user"));
}

TEST(KafkaFailures, SpeakToTheSideThatMetThem) {
  const auto way_out = [](rd_kafka_resp_err_t code, Role role) { return error_of(code, "x", {}, role).message(); };
  for (const auto code : {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
                          RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE}) {
    EXPECT_THAT(way_out(code, Role::source),
                testing::Not(testing::AnyOf(testing::HasSubstr("Write"), testing::HasSubstr("max_record_bytes"),
                                            testing::HasSubstr("sink"))));
  }
  EXPECT_THAT(way_out(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, Role::source), testing::HasSubstr("to Read and"));
  EXPECT_THAT(way_out(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, Role::sink), testing::HasSubstr("to Write and"));
  EXPECT_TRUE(error_of(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, "x", {}, Role::sink).is_record());
  EXPECT_THAT(way_out(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, Role::source),
              testing::HasSubstr("receive.message.max.bytes"));
}

}  // namespace
}  // namespace millrace::kafka
