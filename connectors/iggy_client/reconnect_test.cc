// SPDX-License-Identifier: Apache-2.0
// Goal: whatever a server does to a connection, the client ends its wait, says what happened, and goes on with a new
// session. Method: a fake server told to do it; what it was asked is read from its log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "millrace/base/sync.h"
#include "tests/iggy_rig/client_pair.h"

namespace millrace::iggy {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class Faults : public ::testing::TestWithParam<Framing> {
 protected:
  const std::string framing_{to_string(GetParam())};
};

TEST_P(Faults, SilenceEndsWithTheDeadline) {
  Pair pair(framing_, quick);
  pair.fault({{"on", "poll"}, {"do", "silence"}});
  const auto silent = pair.poll();
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code(), ErrorCode::timeout);
  EXPECT_TRUE(silent.error().is_retryable());
  EXPECT_FALSE(pair.client->connected()) << "what comes late must not be taken for the next answer";
  EXPECT_EQ(*pair.poll(), 4U);
  EXPECT_EQ(pair.client->sessions(), 2U);
}

TEST_P(Faults, AConnectionThatEndsIsMadeAnew) {
  Pair pair(framing_);
  for (const Json& script :
       {Json{{"on", "poll"}, {"do", "drop"}}, Json{{"on", "poll"}, {"do", "drop"}, {"reset", true}},
        Json{{"on", "poll"}, {"do", "drop"}, {"after_bytes", 5}},
        Json{{"on", "poll"}, {"do", "drop"}, {"after_bytes", 300}}}) {
    pair.fault(script);
    const auto ended = pair.poll();
    ASSERT_FALSE(ended) << script;
    EXPECT_EQ(ended.error().code(), ErrorCode::closed) << script << ended.error().message();
    EXPECT_THAT(ended.error().message(), HasSubstr("polling 's/t' partition 0 at offset 0"));
    EXPECT_EQ(*pair.poll(), 4U) << script;
  }
}

TEST_P(Faults, ATornReplyIsPutTogether) {
  Pair pair(framing_);
  pair.fault({{"on", "poll"}, {"do", "torn"}, {"pieces", {1, 2, 3}}, {"size", 97}});
  EXPECT_EQ(*pair.poll(), 4U);
  EXPECT_EQ(pair.client->sessions(), 1U);
}

// A poll of 100 gave more than the client takes; asked for fewer it fits, and later for as many as before.
TEST_P(Faults, AReplyBeyondTheLimitIsAskedForAgainWithFewer) {
  Pair pair(framing_);
  pair.fault(
      {{"on", "poll"}, {"do", "oversize"}, {"bytes", 149'936'145}, {"times", 0}, {"where", {{"count_over", 10}}}});
  EXPECT_EQ(*pair.poll(100), 4U);
  const auto polls = pair.log({{"command", "poll"}});
  EXPECT_EQ(polls.back()["count"], 6);
  pair.server.control({{"clear_faults", true}});
  for (int i = 0; i < 140; ++i) EXPECT_EQ(*pair.poll(100), 4U);
  EXPECT_EQ(pair.log({{"command", "poll"}}).back()["count"], 100);
}

// Each reply that is too large costs a session.
TEST_P(Faults, SteadyLargeRepliesCostNoMoreSessions) {
  Pair pair(framing_);
  pair.fault({{"on", "poll"},
              {"do", "oversize"},
              {"bytes", 149'936'145},
              {"times", 0},
              {"where", {{"count_over", 10}, {"partition", 0}}}});
  EXPECT_EQ(*pair.poll(), 4U);
  const auto sessions = pair.client->sessions();
  EXPECT_LE(sessions, 3U);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(*pair.poll(), 4U);
  EXPECT_EQ(pair.client->sessions(), sessions);
  EXPECT_EQ(*pair.poll(100, 1), 0U);
  EXPECT_EQ(pair.log({{"command", "poll"}, {"partition", 1}}).back()["count"], 100) << "the other has no large ones";
}

TEST_P(Faults, OneMessageBeyondTheLimitIsFatal) {
  Pair pair(framing_);
  pair.fault({{"on", "poll"}, {"do", "oversize"}, {"bytes", 149'936'145}, {"times", 0}});
  const auto large = pair.poll(3);
  ASSERT_FALSE(large);
  EXPECT_TRUE(large.error().is_fatal());
  EXPECT_THAT(large.error().message(), HasSubstr("max_reply_bytes"));
}

TEST_P(Faults, WhatWasDamagedIsNotPassedOn) {
  Pair pair(framing_);
  pair.fault({{"on", "poll"}, {"do", "corrupt"}});
  const auto damaged = pair.poll();
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code(), ErrorCode::corrupt);
  EXPECT_EQ(*pair.poll(), 4U);
  EXPECT_EQ(pair.client->sessions(), 1U) << "the connection is as good as before";
}

TEST_P(Faults, ARestartedServerIsFoundAgain) {
  Pair pair(framing_);
  ASSERT_EQ(*pair.client->join(kTopic, kGroup), JoinOutcome::joined);
  pair.server.control({{"restart", "term"}});
  EXPECT_FALSE(pair.poll());
  ASSERT_TRUE(pair.client->connect(soon()));
  // The membership was taken up again: the group's offsets can be stored.
  EXPECT_EQ(*pair.client->store_offset(Consumer::group(kGroup), kTopic, 0, 1), StoreOutcome::stored);
}

TEST_P(Faults, WhileNobodyListensItTriesUntilTheDeadline) {
  Pair pair(framing_);
  pair.server.control({{"refuse", true}});
  pair.client->disconnect();
  const auto refused = pair.client->connect(Clock::real().now() + std::chrono::milliseconds(200));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_retryable());
  EXPECT_THAT(refused.error().message(), HasSubstr("connecting to Iggy at " + pair.server.address()));
  pair.server.control({{"refuse", false}});
  EXPECT_TRUE(pair.client->connect(soon()));
}

TEST_P(Faults, ATryThatHasBegunIsNotCutShort) {
  Pair pair(framing_);
  pair.client->disconnect();
  pair.server.control({{"fault", {{"on", "any"}, {"do", "delay"}, {"ms", 400}}}});
  const auto connected = pair.client->connect(Clock::real().now() + std::chrono::milliseconds(100));
  EXPECT_TRUE(connected) << connected.error().message();
}

TEST_P(Faults, CancelEndsAWaitFromAnotherThread) {
  Pair pair(framing_);
  pair.fault({{"on", "poll"}, {"do", "silence"}});
  std::optional<ErrorCode> code;
  {
    Thread waiting("poll", [&] { code = pair.poll().error().code(); });
    pair.server.control({{"wait", {{"where", {{"command", "poll"}}}}}});
    pair.client->cancel();
  }
  EXPECT_EQ(code, ErrorCode::cancelled);
  EXPECT_EQ(pair.client->connect(soon()).error().code(), ErrorCode::cancelled);
}

TEST_P(Faults, NothingIsSentOnceCancelled) {
  Pair pair(framing_);
  pair.client->cancel();
  const auto sent = pair.send(*pair.client);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code(), ErrorCode::cancelled);
  EXPECT_EQ(pair.sent(), 0U);
}

TEST_P(Faults, AnAnswerThatComesTooLateIsNotTakenForTheNext) {
  Pair pair(framing_, quick);
  pair.fault({{"on", "poll"}, {"do", "delay"}, {"ms", 600}});
  EXPECT_EQ(pair.poll(1).error().code(), ErrorCode::timeout);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*pair.poll(3), 3U);
}

// A login alone proves nothing: two processes under one name would throw each other out without end.
TEST_P(Faults, SessionsThatEndAtOnceAreMadeAnewWithGrowingPauses) {
  struct Longest final : Random {
    std::uint64_t next() override { return UINT64_MAX; }
  } longest;
  Pair pair(framing_, [&](ClientOptions& options) {
    options.random = &longest;
    options.reconnect = {std::chrono::milliseconds(20), std::chrono::seconds(10), 2.0};
  });
  pair.fault({{"on", "poll"}, {"do", "drop"}, {"times", 0}});
  const SteadyTime begin = Clock::real().now();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(pair.poll());
  // 20 + 40 + 80 + 160 milliseconds between five sessions.
  EXPECT_GE(Clock::real().now() - begin, std::chrono::milliseconds(290));
  EXPECT_EQ(pair.client->sessions(), 5U);
}

// A call waits until it is time for another try: it does not come back at once with the failure of the one before,
// over which callers would spin.
TEST_P(Faults, ACallWithoutASessionTriesOnce) {
  struct Longest final : Random {
    std::uint64_t next() override { return UINT64_MAX; }
  } longest;
  Pair pair(framing_);
  ClientOptions options = pair.options;
  options.random = &longest;
  options.connect_timeout = std::chrono::seconds(1);
  options.reconnect = {std::chrono::milliseconds(1500), std::chrono::seconds(10), 1.0};
  pair.client = *Client::make(options);
  pair.server.control({{"refuse", true}});
  EXPECT_FALSE(pair.client->ping());
  pair.server.control({{"refuse", false}});
  EXPECT_TRUE(pair.client->ping());
}

TEST_P(Faults, AGoodbyeGivesMembershipsUp) {
  Pair pair(framing_);
  ASSERT_EQ(*pair.client->join(kTopic, kGroup), JoinOutcome::joined);
  const auto members = [&] {
    return pair.server.control({{"groups", {{"stream", "s"}, {"topic", "t"}}}})[0]["members"];
  };
  EXPECT_EQ(members().size(), 1U);
  pair.client->log_out(soon());
  EXPECT_FALSE(pair.client->connected());
  pair.server.control({{"wait", {{"where", {{"command", "logout"}}}}}});
  EXPECT_EQ(members().size(), 0U);
  ASSERT_TRUE(pair.client->connect(soon()));
  EXPECT_EQ(members().size(), 0U) << "nothing is taken up again";
}

TEST_P(Faults, ATokenFileThatIsGoneForAMomentIsWaitedFor) {
  iggy_rig::FakeServer server(framing_);
  server.control({{"token", {{"name", "mill"}, {"value", "iggypat-1"}}}});
  const std::string path = ::testing::TempDir() + "iggy-moment-" + server.port();
  ClientOptions options = options_for(server.address());
  options.credentials = {{}, {}, {}, path};
  const auto client = *Client::make(options);
  EXPECT_TRUE(client->connect(soon()).error().is_fatal()) << "at the start it is a mistake";
  std::ofstream(path) << "iggypat-1\n";
  ASSERT_TRUE(client->connect(soon()));
  client->disconnect();
  std::filesystem::remove(path);
  const auto missing = client->ping();
  ASSERT_FALSE(missing);
  EXPECT_TRUE(missing.error().is_retryable());
  std::ofstream(path) << "iggypat-1\n";
  EXPECT_TRUE(client->ping());
  std::filesystem::remove(path);
}

TEST_P(Faults, HeartbeatsGoOutWhenNothingElseDoes) {
  Pair pair(framing_, [](ClientOptions& options) { options.heartbeat = Duration(0); });
  const auto pings = pair.log({{"command", "ping"}}).size();
  EXPECT_TRUE(pair.client->keep_alive());
  EXPECT_EQ(pair.log({{"command", "ping"}}).size(), pings + 1);
  Pair busy(framing_, [](ClientOptions& options) { options.heartbeat = std::chrono::hours(1); });
  const auto before = busy.log({{"command", "ping"}}).size();
  EXPECT_TRUE(busy.client->keep_alive());
  EXPECT_EQ(busy.log({{"command", "ping"}}).size(), before);
}

INSTANTIATE_TEST_SUITE_P(Both, Faults, ::testing::Values(Framing::classic, Framing::vsr),
                         [](const auto& one) { return std::string(to_string(one.param)); });

// The outcome is open: the same request under the same number until it is not.
TEST(VsrFaults, AnOpenOutcomeIsAskedForUnderTheSameNumber) {
  Pair pair("vsr");
  pair.fault({{"on", "join"}, {"do", "status"}, {"code", 57}, {"times", 3}});
  ASSERT_EQ(*pair.client->join(kTopic, kGroup), JoinOutcome::joined);
  const auto joins = pair.log({{"command", "join"}});
  ASSERT_EQ(joins.size(), 4U);
  for (const auto& join : joins) EXPECT_EQ(join["request"], joins[0]["request"]);
  EXPECT_EQ(pair.client->sessions(), 1U);
}

TEST(VsrFaults, AnOpenOutcomeEndsWithTheDeadline) {
  Pair pair("vsr", quick);
  pair.fault({{"on", "join"}, {"do", "status"}, {"code", 57}, {"times", 0}});
  const auto open = pair.client->join(kTopic, kGroup);
  ASSERT_FALSE(open);
  EXPECT_TRUE(open.error().is_retryable());
  EXPECT_EQ(open.error().code(), ErrorCode::unavailable);
}

TEST(VsrFaults, ANumberIsNeverUsedTwice) {
  Pair pair("vsr");
  const OutgoingMessage message{"x", {}, {}, 0};
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(pair.client->send(kTopic, Partitioning::to(1), {&message, 1}));
    ASSERT_TRUE(pair.client->store_offset(Consumer::individual(Identifier::number(7)), kTopic, 0, 1));
    if (i == 1) pair.client->disconnect();
  }
  std::set<std::uint64_t> numbers;
  for (const char* command : {"send", "store_offset"}) {
    for (const auto& entry : pair.log({{"command", command}})) numbers.insert(entry["request"].get<std::uint64_t>());
  }
  EXPECT_EQ(numbers.size(), 6U);
  // None was taken for a repeated one.
  EXPECT_EQ(pair.server.control({{"partitions", {{"stream", "s"}, {"topic", "t"}}}})[1]["messages"], 3);
}

TEST(VsrFaults, AnEvictionThatNobodyAskedForEndsTheSession) {
  Pair pair("vsr");
  ASSERT_EQ(*pair.client->join(kTopic, kGroup), JoinOutcome::joined);
  pair.server.control({{"evict", {{"client", "all"}, {"reason", 13}}}});
  const auto evicted = pair.poll();
  ASSERT_FALSE(evicted);
  EXPECT_TRUE(evicted.error().is_retryable());
  EXPECT_EQ(*pair.poll(), 4U);
  EXPECT_EQ(pair.client->sessions(), 2U);
  EXPECT_EQ((*pair.client->sync(kTopic, kGroup))->partitions, (std::vector<std::uint32_t>{0, 1})) << "a member again";
}

TEST(VsrFaults, AnAnswerBehindAnEvictionIsNotTakenForTheNext) {
  Pair pair("vsr");
  pair.fault({{"on", "poll"}, {"do", "evict"}, {"reply", true}});
  EXPECT_FALSE(pair.poll(1));
  EXPECT_EQ(*pair.poll(3), 3U);
  EXPECT_EQ(pair.client->sessions(), 2U);
}

TEST(VsrFaults, AReplyToAnotherRequestEndsTheSession) {
  Pair pair("vsr");
  pair.fault({{"on", "poll"}, {"do", "request_id"}, {"value", 5}});
  const auto strange = pair.poll();
  ASSERT_FALSE(strange);
  EXPECT_EQ(strange.error().code(), ErrorCode::bad_response);
  EXPECT_EQ(*pair.poll(), 4U);
}

TEST(VsrFaults, AReplyUnderAnotherOperationIsReadByWhatWasAsked) {
  Pair pair("vsr");
  pair.fault({{"on", "create_topic"}, {"do", "operation"}, {"value", 64}});
  EXPECT_TRUE(pair.client->create_topic(Identifier::name("s"), "u", 1));
}

TEST(VsrFaults, TheSentinelIsNotOurs) {
  Pair pair("vsr");
  pair.fault({{"on", "poll"}, {"do", "sentinel"}});
  PolledMessages polled;
  ASSERT_TRUE(pair.client->poll({Consumer::group(kGroup), kTopic, 0, PollFrom::offset(0), 10}, polled));
  EXPECT_TRUE(polled.not_ours());
}

TEST(VsrFaults, AnOtherVersionIsFatalAndNamed) {
  const iggy_rig::FakeServer server("vsr", {"--protocol", "0.12.2"});
  const auto client = Client::make(options_for(server.address()));
  const auto refused = (*client)->connect(soon());
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_fatal());
  EXPECT_THAT(refused.error().message(), HasSubstr("0.12.2"));
}

// After a restart a ghost owns everything; who logs in under the same id is that ghost.
TEST(VsrFaults, TheSameClientIdTakesItsMembershipUpAgain) {
  ClientId id{};
  id[0] = 9;
  Pair pair("vsr", [&](ClientOptions& options) { options.client_id = id; });
  ASSERT_EQ(*pair.client->join(kTopic, kGroup), JoinOutcome::joined);
  pair.server.control({{"restart", "term"}});
  auto again = Client::make(pair.options);
  ASSERT_TRUE(again);
  ASSERT_TRUE((*again)->connect(soon()));
  EXPECT_EQ((*again)->client_id(), id);
  EXPECT_EQ((*(*again)->sync(kTopic, kGroup))->partitions, (std::vector<std::uint32_t>{0, 1}));
}

}  // namespace
}  // namespace millrace::iggy
