// SPDX-License-Identifier: Apache-2.0
// Goal: the calls, over both framings. Method: against a fake server of its own codecs, which real clients and recorded
// sessions have been held against; what it was asked is read from its log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "connectors/iggy_client/client_fixture.h"
#include "millrace/iggy_client/user_headers.h"
#include "tests/iggy_rig/fake_server.h"

namespace millrace::iggy {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const TopicName kTopic{Identifier::name("s"), Identifier::name("t")};
const Identifier kGroup = Identifier::name("mill");

class Calls : public ::testing::TestWithParam<Framing> {
 protected:
  Calls() : server_(std::string(to_string(GetParam()))) {}
  [[nodiscard]] std::unique_ptr<Client> client(ClientOptions options) {
    auto made = Client::make(std::move(options));
    EXPECT_TRUE(made) << made.error().message();
    return *std::move(made);
  }
  [[nodiscard]] std::unique_ptr<Client> client() { return client(options_for(server_.address())); }
  [[nodiscard]] std::vector<std::string> poll(Client& client, std::uint32_t partition, PollFrom from,
                                              std::uint32_t count = 100) {
    PolledMessages polled;
    const auto done =
        client.poll({Consumer::individual(Identifier::number(7)), kTopic, partition, from, count}, polled);
    EXPECT_TRUE(done) << done.error().message();
    std::vector<std::string> texts;
    for (const Message& message : polled.messages()) {
      texts.push_back(std::to_string(message.offset) + " " + std::string(message.payload));
    }
    return texts;
  }
  [[nodiscard]] bool classic() const { return GetParam() == Framing::classic; }
  iggy_rig::FakeServer server_;
};

TEST_P(Calls, TheProtocolIsFoundOutAndKept) {
  const auto one = client();
  ASSERT_TRUE(one->connect(soon()));
  EXPECT_EQ(one->framing(), GetParam());
  EXPECT_EQ(one->server_version(), classic() ? "" : "0.9.0");
  const auto connection = [&] {
    return server_.control({{"log", {{"where", {{"command", "login"}}}}}}).back()["connection"].get<int>();
  };
  const int before = connection();
  one->disconnect();
  ASSERT_TRUE(one->connect(soon()));
  EXPECT_EQ(one->sessions(), 2U);
  EXPECT_EQ(connection(), before + 1) << "no second probe";
}

TEST_P(Calls, StreamsTopicsAndGroupsAreMadeOnce) {
  const auto one = client();
  EXPECT_FALSE(*one->get_stream(Identifier::name("s")));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(one->create_stream("s"));
    ASSERT_TRUE(one->create_topic(Identifier::name("s"), "t", 3));
    ASSERT_TRUE(one->create_group(kTopic, "mill"));
  }
  const auto topic = one->get_topic(kTopic);
  ASSERT_TRUE(topic && *topic);
  EXPECT_EQ((*topic)->partitions.size(), 3U);
  EXPECT_FALSE(*one->get_topic({Identifier::name("s"), Identifier::name("none")}));
  EXPECT_FALSE(*one->get_topic({Identifier::name("none"), Identifier::name("t")}));
  EXPECT_EQ((*one->get_stream(Identifier::name("s")))->topic_count, 1U);
  EXPECT_EQ((*one->get_group(kTopic, kGroup))->name, "mill");
  EXPECT_FALSE(*one->get_group(kTopic, Identifier::name("none")));
}

TEST_P(Calls, PartitionsAreAdded) {
  const auto one = client();
  server_.create(1);
  ASSERT_TRUE(one->create_partitions(kTopic, 3));
  EXPECT_EQ((*one->get_topic(kTopic))->partitions.size(), 4U);
}

TEST_P(Calls, MessagesComeBackAsTheyWereSent) {
  const auto one = client();
  server_.create(2);
  ByteBuffer headers;
  ASSERT_TRUE(encode_user_header({HeaderKind::string, "k", HeaderKind::string, "v"}, headers));
  const std::string nul("a\0b", 3);
  const OutgoingMessage messages[] = {{"one", {}, {5, 6}, 100}, {nul, headers.view(), {}, 90}, {"", {}, {}, 95}};
  const auto sent = one->send(kTopic, Partitioning::to(1), messages);
  ASSERT_TRUE(sent) << sent.error().message();
  if (!classic()) {
    ASSERT_EQ(sent->size(), 1U);
    EXPECT_EQ(sent->front().partition, 1U);
    EXPECT_EQ(sent->front().base_offset, 0U);
  }
  PolledMessages polled;
  ASSERT_TRUE(one->poll({Consumer::individual(Identifier::number(7)), kTopic, 1, PollFrom::offset(0), 10}, polled));
  ASSERT_EQ(polled.messages().size(), 3U);
  EXPECT_EQ(polled.last_offset(), 2U);
  EXPECT_EQ(polled.messages()[0].payload, "one");
  EXPECT_EQ(polled.messages()[0].id, (MessageId{5, 6}));
  EXPECT_EQ(polled.messages()[0].origin_timestamp, 100U);
  EXPECT_EQ(polled.messages()[1].payload, nul);
  EXPECT_EQ(polled.messages()[1].user_headers, headers.view());
  EXPECT_EQ(polled.messages()[1].origin_timestamp, 90U);
  EXPECT_NE(polled.messages()[1].id, MessageId());
  EXPECT_EQ(polled.messages()[2].payload, "");
  // What the server keeps, through codecs of its own.
  const auto kept = server_.control({{"messages", {{"stream", "s"}, {"topic", "t"}, {"partition", 1}}}});
  EXPECT_EQ(kept[0]["payload"], "one");
  EXPECT_EQ(kept[1]["headers_hex"], "02010000006b020100000076");
}

TEST_P(Calls, PollsBeginWhereTheyAreTold) {
  const auto one = client();
  server_.create(1);
  server_.append(0, 0, 4);
  EXPECT_EQ(poll(*one, 0, PollFrom::offset(2)), (std::vector<std::string>{"2 {\"n\":2}", "3 {\"n\":3}"}));
  EXPECT_EQ(poll(*one, 0, PollFrom::first(), 1), (std::vector<std::string>{"0 {\"n\":0}"}));
  EXPECT_EQ(poll(*one, 0, PollFrom::last(), 1), (std::vector<std::string>{"3 {\"n\":3}"}));
  EXPECT_EQ(poll(*one, 0, PollFrom::timestamp(1), 2).size(), 2U);
  EXPECT_TRUE(poll(*one, 0, PollFrom::offset(9)).empty());
}

TEST_P(Calls, INV1_APollStoresNothing) {
  const auto one = client();
  server_.create(1);
  server_.append(0, 0, 4);
  EXPECT_EQ(poll(*one, 0, PollFrom::offset(0)).size(), 4U);
  EXPECT_FALSE(*one->get_offset(Consumer::individual(Identifier::number(7)), kTopic, 0));
}

TEST_P(Calls, OffsetsAreStoredReadAndDeleted) {
  const auto one = client();
  const Consumer consumer = Consumer::individual(Identifier::number(7));
  server_.create(1);
  EXPECT_EQ(*one->store_offset(consumer, kTopic, 0, 0), StoreOutcome::beyond_end);
  server_.append(0, 0, 4);
  EXPECT_FALSE(*one->get_offset(consumer, kTopic, 0));
  EXPECT_EQ(*one->store_offset(consumer, kTopic, 0, 2), StoreOutcome::stored);
  EXPECT_EQ(**one->get_offset(consumer, kTopic, 0), (StoredOffset{0, 3, 2}));
  EXPECT_EQ(*one->store_offset(consumer, kTopic, 0, 1), StoreOutcome::stored) << "an explicit store may go back";
  EXPECT_EQ(*one->store_offset(consumer, kTopic, 0, 4), StoreOutcome::beyond_end);
  EXPECT_EQ((*one->get_offset(consumer, kTopic, 0))->stored, 1U);
  ASSERT_TRUE(one->delete_offset(consumer, kTopic, 0));
  EXPECT_FALSE(*one->get_offset(consumer, kTopic, 0));
  EXPECT_TRUE(one->delete_offset(consumer, kTopic, 0));
}

TEST_P(Calls, MembersOfAGroup) {
  const auto one = client();
  server_.create(2);
  server_.append(0, 0, 4);
  EXPECT_EQ(*one->join(kTopic, kGroup), JoinOutcome::no_such_group);
  EXPECT_EQ(*one->store_offset(Consumer::group(kGroup), kTopic, 0, 1), StoreOutcome::not_ours);
  ASSERT_TRUE(one->create_group(kTopic, "mill"));
  EXPECT_EQ(*one->store_offset(Consumer::group(kGroup), kTopic, 0, 1), StoreOutcome::not_ours);
  PolledMessages polled;
  const PollRequest request{Consumer::group(kGroup), kTopic, 0, PollFrom::offset(0), 10};
  ASSERT_TRUE(one->poll(request, polled));
  EXPECT_TRUE(polled.not_ours());
  EXPECT_EQ(polled.not_a_member(), classic());
  EXPECT_EQ(*one->join(kTopic, kGroup), JoinOutcome::joined);
  if (!classic()) {
    EXPECT_EQ((*one->sync(kTopic, kGroup))->partitions, (std::vector<std::uint32_t>{0, 1}));
  }
  ASSERT_TRUE(one->poll(request, polled));
  EXPECT_FALSE(polled.not_ours());
  EXPECT_FALSE(polled.not_a_member());
  EXPECT_EQ(polled.messages().size(), 4U);
  EXPECT_EQ(*one->store_offset(Consumer::group(kGroup), kTopic, 0, 1), StoreOutcome::stored);
  ASSERT_TRUE(one->leave(kTopic, kGroup));
  ASSERT_TRUE(one->leave(kTopic, kGroup)) << "gone is gone";
  if (!classic()) {
    EXPECT_FALSE(*one->sync(kTopic, kGroup));
  }
}

TEST_P(Calls, WhatIsMissingIsNamed) {
  const auto one = client();
  server_.create(1);
  PolledMessages polled;
  const auto done =
      one->poll({Consumer::individual(Identifier::number(7)), kTopic, 9, PollFrom::offset(42), 10}, polled);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::not_found);
  EXPECT_THAT(done.error().message(), HasSubstr("polling 's/t' partition 9 at offset 42 from " + server_.address()));
  const OutgoingMessage message{"x", {}, {}, 0};
  const auto sent =
      one->send({Identifier::name("none"), Identifier::name("t")}, Partitioning::balanced(), {&message, 1});
  ASSERT_FALSE(sent);
  EXPECT_TRUE(sent.error().is_retryable());
  EXPECT_THAT(sent.error().message(), HasSubstr("'none/t'"));
  EXPECT_FALSE(one->create_stream(""));
}

TEST_P(Calls, AWrongPasswordIsFatalAndNotShown) {
  ClientOptions options = options_for(server_.address());
  options.credentials.password = "hunter2";
  const auto one = client(std::move(options));
  const auto done = one->connect(soon());
  ASSERT_FALSE(done);
  EXPECT_TRUE(done.error().is_fatal());
  EXPECT_EQ(done.error().code(), ErrorCode::credentials);
  EXPECT_THAT(done.error().message(), HasSubstr(server_.address()));
  EXPECT_THAT(done.error().describe(), Not(HasSubstr("hunter2")));
}

TEST_P(Calls, TokensAndTokenFiles) {
  server_.control({{"token", {{"name", "mill"}, {"value", "iggypat-1"}}}});
  ClientOptions options = options_for(server_.address());
  options.credentials = {{}, {}, "iggypat-1", {}};
  EXPECT_TRUE(client(options)->connect(soon()));
  options.credentials.token = "iggypat-0";
  const auto refused = client(options)->connect(soon());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::credentials);
  EXPECT_THAT(refused.error().describe(), Not(HasSubstr("iggypat")));
  const std::string path = ::testing::TempDir() + "iggy-token-" + server_.port();
  std::ofstream(path) << "iggypat-1\n";
  options.credentials = {{}, {}, {}, path};
  EXPECT_TRUE(client(options)->connect(soon()));
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Both, Calls, ::testing::Values(Framing::classic, Framing::vsr),
                         [](const auto& one) { return std::string(to_string(one.param)); });

}  // namespace
}  // namespace millrace::iggy
