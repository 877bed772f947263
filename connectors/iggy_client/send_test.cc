// SPDX-License-Identifier: Apache-2.0
// Goal: what a server cannot take is found before it is sent, and said of the message that it is about. Method:
// messages at and beyond the limits; what was sent is asked of the fake server, through its own codecs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connectors/iggy_client/message_batch.h"
#include "tests/iggy_rig/client_pair.h"

namespace millrace::iggy {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kReal = 1'700'000'000'000'000;

TEST(MessageLimits, AMessageBeyondThemIsNamed) {
  const std::string payload(64'000'001, 'x');
  const std::string_view most = std::string_view(payload).substr(1);
  const OutgoingMessage fits{most, std::string_view(payload).substr(0, 100'000), {}, 0};
  const OutgoingMessage large[] = {fits, fits, {payload, {}, {}, 0}};
  EXPECT_TRUE(check_messages(std::span(large).first(2)));
  const auto refused = check_messages(large);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_record());
  EXPECT_EQ(refused.error().code(), ErrorCode::too_large);
  EXPECT_THAT(refused.error().message(), HasSubstr("message 2 of the 3 has 64000001 bytes of payload"));
  EXPECT_THAT(refused.error().context(), ::testing::Contains(std::pair<std::string, std::string>("message", "2")));
  const OutgoingMessage headers{"", std::string_view(payload).substr(0, 100'001), {}, 0};
  const auto refused_headers = check_messages({&headers, 1});
  ASSERT_FALSE(refused_headers);
  EXPECT_THAT(refused_headers.error().message(), HasSubstr("user headers"));
}

// Lengths on the wire have 32 bits.
TEST(MessageLimits, MoreThanOneRequestCanCountIsFatal) {
  const std::string payload(64'000'000, 'x');
  const std::vector<OutgoingMessage> messages(68, {payload, {}, {}, 0});
  EXPECT_TRUE(check_messages(std::span(messages).first(67)));
  const auto refused = check_messages(messages);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_fatal());
  EXPECT_EQ(refused.error().code(), ErrorCode::too_large);
}

TEST(MessageLimits, ABatchEndsWhereTimesAreTooFarApart) {
  constexpr std::uint64_t kMost = 0xFFFFFFFF;
  const OutgoingMessage messages[] = {
      {"a", {}, {}, kReal + kMost}, {"b", {}, {}, kReal}, {"c", {}, {}, kReal + kMost + 1}};
  EXPECT_EQ(batch_length(messages), 2U);
  EXPECT_EQ(batch_length(std::span(messages).first(2)), 2U);
  EXPECT_EQ(batch_length(std::span(messages).first(1)), 1U);
}

class Sends : public ::testing::TestWithParam<Framing> {
 protected:
  Pair pair_{std::string(to_string(GetParam()))};
};

TEST_P(Sends, NothingIsSentWithAMessageThatIsTooLarge) {
  const std::string headers(100'001, 'h');
  const OutgoingMessage messages[] = {{"a", {}, {}, 0}, {"b", headers, {}, 0}};
  const auto refused = pair_.client->send(kTopic, Partitioning::to(1), messages);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_record());
  EXPECT_THAT(refused.error().message(), HasSubstr("message 1 of the 2"));
  EXPECT_EQ(pair_.log({{"command", "send"}}).size(), 0U);
}

TEST_P(Sends, AKeyThatCannotBeSaidIsTheRecordsFault) {
  const OutgoingMessage messages[] = {{"a", {}, {}, 0}, {"b", {}, {}, 0}};
  for (const std::string& key : {std::string(), std::string(256, 'k')}) {
    const auto one = pair_.client->send(kTopic, Partitioning::by(key), {messages, 1});
    ASSERT_FALSE(one);
    EXPECT_TRUE(one.error().is_record());
    const auto both = pair_.client->send(kTopic, Partitioning::by(key), messages);
    ASSERT_FALSE(both);
    EXPECT_TRUE(both.error().is_fatal());
  }
  EXPECT_TRUE(pair_.client->send(kTopic, Partitioning::by(std::string(255, 'k')), messages));
}

// A batch counts its messages' own times from the earliest, in 32 bits of microseconds.
TEST_P(Sends, MessagesFarApartInTimeAllArriveInOrder) {
  const OutgoingMessage messages[] = {
      {"a", {}, {}, 0}, {"b", {}, {}, kReal}, {"c", {}, {}, kReal + 5}, {"d", {}, {}, kReal + 4'300'000'000}};
  const auto sent = pair_.client->send(kTopic, Partitioning::to(1), messages);
  ASSERT_TRUE(sent) << sent.error().message();
  if (GetParam() == Framing::vsr) {
    EXPECT_EQ(sent->size(), 3U);
  }
  const auto kept = pair_.server.control({{"messages", {{"stream", "s"}, {"topic", "t"}, {"partition", 1}}}});
  ASSERT_EQ(kept.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(kept[i]["payload"], std::string(messages[i].payload));
    EXPECT_EQ(kept[i]["origin"], messages[i].origin_timestamp);
  }
}

TEST_P(Sends, WhatAServerSaysOfOneOfSeveralIsFatal) {
  const OutgoingMessage messages[] = {{"a", {}, {}, 0}, {"b", {}, {}, 0}};
  pair_.fault({{"on", "send"}, {"do", "status"}, {"code", 4022}, {"times", 2}});
  const auto one = pair_.client->send(kTopic, Partitioning::to(1), {messages, 1});
  ASSERT_FALSE(one);
  EXPECT_TRUE(one.error().is_record());
  const auto both = pair_.client->send(kTopic, Partitioning::to(1), messages);
  ASSERT_FALSE(both);
  EXPECT_TRUE(both.error().is_fatal());
  EXPECT_EQ(both.error().code(), ErrorCode::too_large);
}

INSTANTIATE_TEST_SUITE_P(Both, Sends, ::testing::Values(Framing::classic, Framing::vsr),
                         [](const auto& one) { return std::string(to_string(one.param)); });

}  // namespace
}  // namespace millrace::iggy
