// SPDX-License-Identifier: Apache-2.0
// Goal: requests are byte for byte what real servers took, and their replies are read as what they mean. Method:
// sessions that were recorded with another client against servers 0.8.0 and 0.9.0-edge.5.
#include <gtest/gtest.h>

#include <map>

#include "connectors/iggy_client/codes.h"
#include "connectors/iggy_client/poll_reply.h"
#include "connectors/iggy_client/replies.h"
#include "connectors/iggy_client/reply_reader.h"
#include "connectors/iggy_client/requests.h"
#include "millrace/iggy_client/user_headers.h"
#include "millrace/testing/seeded_random.h"
#include "tests/iggy_rig/capture.h"

namespace millrace::iggy {
namespace {

using iggy_rig::to_hex;

const TopicName kTopic{Identifier::name("cap"), Identifier::name("t")};
const Identifier kStream = Identifier::name("cap");
const Identifier kGroup = Identifier::name("mill");
const Consumer kOne = Consumer::individual(Identifier::number(1));
const Consumer kMembers = Consumer::group(kGroup);

Request send(const Layout& layout, int first, int count) {
  static testing::SeededRandom random(1);
  std::vector<std::string> payloads;
  std::vector<std::string> headers;
  for (int i = first; i < first + count; ++i) {
    payloads.push_back("{\"n\":" + std::to_string(i) + "}");
    ByteBuffer block;
    if (i % 2 == 1) {
      const std::string value = "v" + std::to_string(i);
      EXPECT_TRUE(encode_user_header({HeaderKind::string, "k", HeaderKind::string, value}, block));
    }
    headers.emplace_back(block.view());
  }
  std::vector<OutgoingMessage> messages;
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    const auto number = static_cast<std::uint64_t>(first) + i;
    messages.push_back({payloads[i], headers[i], {0x1000 + number, 0}, 1'700'000'000'000'000 + number});
  }
  return send_request(layout, kTopic, Partitioning::to(0), messages, random);
}

// What each recorded request was, by its title; those that this client never makes are not in it.
std::map<std::string, Request> requests(const Layout& layout) {
  const bool classic = layout.framing == Framing::classic;
  const auto login = [&](std::string_view password) {
    return login_request(layout, {}, {"iggy", password, {}, "oracle", "0.0.1", {}});
  };
  std::map<std::string, Request> all;
  const auto add = [&](std::string title, Request request) {
    EXPECT_FALSE(request.invalid()) << title;
    all.emplace(std::move(title), std::move(request));
  };
  add("ping before login", bare_request(Command::ping));
  add("read before login", stream_request(Command::get_stream, kStream));
  add("login", login("iggy"));
  if (!classic) add("cluster", bare_request(Command::cluster));
  add("get missing stream", stream_request(Command::get_stream, kStream));
  add("create stream", create_stream_request("cap"));
  add("create stream again", create_stream_request("cap"));
  add("create topic", create_topic_request(layout, kStream, "t", 2));
  add("get topic", topic_request(Command::get_topic, kTopic));
  add("poll empty", poll_request(kOne, kTopic, 0, PollFrom::offset(0), 10));
  add("send 3", send(layout, 0, 3));
  add("send 2", send(layout, 3, 2));
  add("poll all", poll_request(kOne, kTopic, 0, PollFrom::offset(0), 10));
  add("poll sliced 1..3", poll_request(kOne, kTopic, 0, PollFrom::offset(1), 3));
  add("poll beyond end", poll_request(kOne, kTopic, 0, PollFrom::offset(99), 3));
  add("poll unknown partition", poll_request(kOne, kTopic, 9, PollFrom::offset(0), 3));
  add("no stored offset", get_offset_request(kOne, kTopic, 0));
  add("store 2", store_offset_request(layout, kOne, kTopic, 0, 2));
  add("get offset", get_offset_request(kOne, kTopic, 0));
  add("store beyond end", store_offset_request(layout, kOne, kTopic, 0, 99));
  add("create group", create_group_request(kTopic, "mill"));
  add("poll as non-member", poll_request(kMembers, kTopic, 0, PollFrom::offset(0), 1));
  add("join", group_request(Command::join_group, kTopic, kGroup));
  add("get group", group_request(Command::get_group, kTopic, kGroup));
  if (!classic) add("sync", group_request(Command::sync_group, kTopic, kGroup));
  add("group poll", poll_request(kMembers, kTopic, 0, PollFrom::offset(0), 2));
  add("group store", store_offset_request(layout, kMembers, kTopic, 0, 1));
  add("leave", group_request(Command::leave_group, kTopic, kGroup));
  if (!classic) add("sync as non-member", group_request(Command::sync_group, kTopic, kGroup));
  add("store as non-member", store_offset_request(layout, kMembers, kTopic, 0, 1));
  add("delete stream", stream_request(Command::delete_stream, kStream));
  add("logout", bare_request(Command::logout));
  add("login bad password", login("wrong!"));
  return all;
}

struct Read {
  std::uint32_t status = 0;
  std::string payload;
};

/// The reply's payload, through the framing.
Read read(Framing framing, const iggy_rig::Exchange& exchange, Operation operation = Operation::read) {
  ReplyReader reader(framing, std::size_t{1} << 20U);
  std::string_view left = exchange.reply;
  for (bool whole = false; !whole;) {
    const std::span<char> room = reader.room();
    const std::size_t count = std::min(room.size(), left.size());
    EXPECT_GT(count + static_cast<std::size_t>(room.empty()), 0U) << exchange.title << " was recorded whole";
    left.copy(room.data(), count);
    left.remove_prefix(count);
    const auto done = reader.filled(count);
    EXPECT_TRUE(done) << exchange.title;
    if (!done) return {};
    whole = *done;
  }
  EXPECT_TRUE(left.empty()) << exchange.title;
  const ReplyHead& head = reader.head();
  if (head.eviction) return {code_of(*head.eviction), {}};
  if (head.status != 0 || framing == Framing::classic) return {head.status, std::string(reader.body())};
  const auto payload = read_vsr_results(operation, reader.body());
  EXPECT_TRUE(payload) << exchange.title;
  return {payload->status, std::string(payload->bytes)};
}

// The protocol's own 8 bytes at a time show what differs.
std::string in_words(std::string_view bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 8) text += to_hex(bytes.substr(i, 8)) + "\n";
  return text;
}

TEST(RecordedClassic, RequestsAreWhatTheServerTook) {
  std::map<std::string, Request> ours = requests(classic_layout());
  const auto capture = iggy_rig::read_capture("classic-0.8.0");
  EXPECT_EQ(capture.size(), ours.size());
  for (const iggy_rig::Exchange& exchange : capture) {
    const auto found = ours.find(exchange.title);
    ASSERT_NE(found, ours.end()) << exchange.title;
    EXPECT_EQ(in_words(found->second.classic_frame()), in_words(exchange.request)) << exchange.title;
  }
}

TEST(RecordedVsr, RequestsAreWhatTheServerTook) {
  std::map<std::string, Request> ours = requests(**vsr_layout({}));
  const auto capture = iggy_rig::read_capture("vsr-0.9.0-edge.5");
  EXPECT_EQ(capture.size(), ours.size());
  RequestIds ids;
  for (const iggy_rig::Exchange& exchange : capture) {
    const auto found = ours.find(exchange.title);
    ASSERT_NE(found, ours.end()) << exchange.title;
    // Who asks was chosen at random, and the session by the server; both begin with a login.
    exchange.request.copy(reinterpret_cast<char*>(ids.client.data()), ids.client.size(), 128);
    const Operation operation = operation_of(found->second.command());
    if (exchange.title.starts_with("login")) ids.session = ids.request = 0;
    if (operation != Operation::read && operation != Operation::log_in) ++ids.request;
    EXPECT_EQ(in_words(found->second.vsr_frame(ids)), in_words(exchange.request)) << exchange.title;
    // A reply names the request that it answers, whoever's it says it is.
    const auto head = read_vsr_header(std::string_view(exchange.reply).substr(0, kVsrHeader), std::size_t{1} << 20U);
    ASSERT_TRUE(head) << exchange.title;
    if (!head->eviction) {
      EXPECT_EQ(head->request, operation == Operation::log_in ? 0 : ids.request) << exchange.title;
    }
    if (exchange.title == "login") {
      const auto login = read_login(**vsr_layout({}), read(Framing::vsr, exchange, Operation::log_in).payload);
      ASSERT_TRUE(login);
      EXPECT_EQ(login->session, 0x1aU);
      EXPECT_EQ(login->protocol, (ProtocolVersion{0, 11, 0}));
      EXPECT_EQ(login->server_version, "0.9.0-edge.5");
      ids.session = login->session;
    }
  }
}

class Recorded : public ::testing::TestWithParam<Framing> {
 protected:
  [[nodiscard]] const Layout& layout() const {
    return GetParam() == Framing::classic ? classic_layout() : **vsr_layout({});
  }
  [[nodiscard]] Read reply(std::string_view title, Operation operation = Operation::read) const {
    return read(GetParam(), iggy_rig::find_exchange(capture_, title), operation);
  }
  [[nodiscard]] bool classic() const { return GetParam() == Framing::classic; }
  /// Offsets and payloads of a poll, with the user headers' text behind them.
  [[nodiscard]] std::vector<std::string> messages(std::string_view title) const {
    const Read got = reply(title);
    PolledMessages polled;
    PollReplyDecoder decoder(layout(), true);
    EXPECT_TRUE(decoder.decode(got.payload, polled)) << title;
    std::vector<std::string> texts;
    for (const Message& message : polled.messages()) {
      std::string text = std::to_string(message.offset) + " " + std::string(message.payload);
      std::vector<UserHeader> headers;
      EXPECT_TRUE(decode_user_headers(message.user_headers, headers));
      for (const UserHeader& header : headers) text += " " + std::string(header.key) + "=" + std::string(header.value);
      EXPECT_EQ(message.id, (MessageId{0x1000 + message.offset, 0}));
      EXPECT_EQ(message.origin_timestamp, 1'700'000'000'000'000 + message.offset);
      EXPECT_GT(message.timestamp, 1'795'985'000'000'000U);
      texts.push_back(std::move(text));
    }
    EXPECT_EQ(polled.partition(), 0U);
    EXPECT_EQ(polled.last_offset(), texts.empty() ? std::nullopt : std::optional<std::uint64_t>(4));
    return texts;
  }
  const std::vector<iggy_rig::Exchange> capture_ =
      iggy_rig::read_capture(GetParam() == Framing::classic ? "classic-0.8.0" : "vsr-0.9.0-edge.5");
};

TEST_P(Recorded, Refusals) {
  EXPECT_EQ(reply("read before login").status, 40U);
  EXPECT_EQ(reply("create stream again", Operation::create_stream).status, 1012U);
  EXPECT_EQ(reply("poll unknown partition").status, 3007U);
  EXPECT_EQ(reply("store beyond end", Operation::store_offset).status, 4100U);
  EXPECT_EQ(reply("store as non-member", Operation::store_offset).status, classic() ? 5006U : 20U);
  EXPECT_EQ(reply("login bad password", Operation::log_in).status, 42U);
}

TEST_P(Recorded, WhatThereIsNot) {
  EXPECT_FALSE(*read_stream(layout(), reply("get missing stream").payload));
  EXPECT_FALSE(*read_offset(reply("no stored offset").payload));
}

TEST_P(Recorded, StreamsAndTopics) {
  const auto stream = read_stream(layout(), reply("create stream", Operation::create_stream).payload);
  ASSERT_TRUE(stream && *stream);
  EXPECT_EQ((*stream)->name, "cap");
  EXPECT_EQ((*stream)->topic_count, 0U);
  EXPECT_EQ((*stream)->created_at, classic() ? 1795985964008717U : 1795987590607672U);
  const auto made = read_topic(layout(), reply("create topic", Operation::create_topic).payload);
  ASSERT_TRUE(made && *made);
  const auto topic = read_topic(layout(), reply("get topic").payload);
  ASSERT_TRUE(topic && *topic);
  for (const TopicInfo* one : {&**made, &**topic}) {
    EXPECT_EQ(one->name, "t");
    EXPECT_EQ(one->created_at, classic() ? 1795985964012303U : 1795987590609055U);
    EXPECT_EQ(one->expiry, UINT64_MAX);
    EXPECT_EQ(one->max_size, UINT64_MAX);
    EXPECT_EQ(one->compression, 1U);
    ASSERT_EQ(one->partitions.size(), 2U);
    EXPECT_EQ(one->partitions[1].id, 1U);
    EXPECT_EQ(one->partitions[1].messages, 0U);
  }
}

TEST_P(Recorded, Messages) {
  EXPECT_EQ(messages("poll all"), (std::vector<std::string>{"0 {\"n\":0}", "1 {\"n\":1} k=v1", "2 {\"n\":2}",
                                                            "3 {\"n\":3} k=v3", "4 {\"n\":4}"}));
  // From the middle of one batch to the middle of another.
  EXPECT_EQ(messages("poll sliced 1..3"),
            (std::vector<std::string>{"1 {\"n\":1} k=v1", "2 {\"n\":2}", "3 {\"n\":3} k=v3"}));
  EXPECT_EQ(messages("group poll"), (std::vector<std::string>{"0 {\"n\":0}", "1 {\"n\":1} k=v1"}));
  EXPECT_EQ(messages("poll empty"), std::vector<std::string>());
  EXPECT_EQ(messages("poll beyond end"), std::vector<std::string>());
}

TEST_P(Recorded, OffsetsAndGroups) {
  EXPECT_EQ(**read_offset(reply("get offset").payload), (StoredOffset{0, 4, 2}));
  const auto made = read_group(reply("create group", Operation::create_group).payload);
  ASSERT_TRUE(made && *made);
  EXPECT_EQ((*made)->name, "mill");
  EXPECT_TRUE((*made)->members.empty());
  const auto group = read_group(reply("get group").payload);
  ASSERT_TRUE(group && *group);
  EXPECT_EQ((*group)->partitions, 2U);
  EXPECT_EQ((*group)->members, (std::vector<GroupMember>{{0, {0, 1}}}));
  EXPECT_EQ(reply("join", Operation::join_group).status, 0U);
  EXPECT_EQ(reply("group store", Operation::store_offset).status, 0U);
}

INSTANTIATE_TEST_SUITE_P(Both, Recorded, ::testing::Values(Framing::classic, Framing::vsr),
                         [](const auto& one) { return std::string(to_string(one.param)); });

TEST(RecordedVsr, OnlyThere) {
  const auto capture = iggy_rig::read_capture("vsr-0.9.0-edge.5");
  const auto reply = [&](std::string_view title, Operation operation = Operation::read) {
    return read(Framing::vsr, iggy_rig::find_exchange(capture, title), operation);
  };
  EXPECT_EQ(**read_assignment(reply("sync").payload), (GroupAssignment{1, {0, 1}}));
  EXPECT_FALSE(*read_assignment(reply("sync as non-member").payload));
  EXPECT_EQ(*read_cluster(reply("cluster").payload),
            (std::vector<ClusterNode>{{"iggy-node", "127.0.0.1", 19090, true, true}}));
  EXPECT_EQ(*read_confirmations(reply("send 3", Operation::send).payload),
            (std::vector<SendConfirmation>{{0, 0, 0, 0}}));
  EXPECT_EQ(*read_confirmations(reply("send 2", Operation::send).payload),
            (std::vector<SendConfirmation>{{0, 0, 0, 3}}));
  PolledMessages polled;
  ASSERT_TRUE(PollReplyDecoder(**vsr_layout({}), true).decode(reply("poll as non-member").payload, polled));
  EXPECT_TRUE(polled.not_ours());
}

}  // namespace
}  // namespace millrace::iggy
