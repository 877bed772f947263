// SPDX-License-Identifier: Apache-2.0
// Goal: nothing that a server loses, forgets or denies is passed over in silence. Method: whole pipelines over both
// framings from a fake server, which is killed, purged, or made to answer as real ones do when they cannot look.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/iggy_source/source_fixture.h"

namespace millrace::iggy_source {
namespace {

using ::testing::HasSubstr;
using testing::why;

const nlohmann::json kTopic{{"stream", "s"}, {"topic", "t"}};

// Polls of the connections that fetch: of explicit positions, many messages at once.
const nlohmann::json kFetches{{"kind", "consumer"}, {"strategy", "offset"}, {"count_over", 1}};

class IggyLoss : public ::testing::TestWithParam<std::string> {
 protected:
  IggyLoss() : server_(GetParam()) {}

  void fault(nlohmann::json script) { server_.control({{"fault", std::move(script)}}); }
  /// Nothing more is fetched until `give`.
  void hold_back() { fault({{"on", "poll"}, {"do", "empty"}, {"times", 0}, {"where", kFetches}}); }
  void give() { server_.control({{"clear_faults", true}}); }
  nlohmann::json at(const nlohmann::json& more) {
    nlohmann::json all = kTopic;
    all.update(more);
    return all;
  }
  /// A bounded run whose twenty messages go by `command` before they are fetched.
  void ends_without(const nlohmann::json& command, const std::string& said) {
    server_.create(1);
    server_.append(0, 0, 20);
    hold_back();
    IggySourceOptions options = bounded(options_for(server_));
    options.on_position_lost = OnPositionLost::earliest;
    Running run(options);
    ASSERT_TRUE(run.wait_for_log("partitions of Iggy were assigned"));
    server_.control(command);
    EXPECT_EQ(run.join().state, ExitState::completed) << why(run.join());
    EXPECT_TRUE(run.lines().empty());
    EXPECT_THAT(run.log(), HasSubstr(said));
  }

  iggy_rig::FakeServer server_;
};

// --- what is stored is ours to store, or it is said

TEST_P(IggyLoss, INV2_AGroupThatIsMadeAgainGetsItsOffsets) {
  server_.create(2, "mill");
  server_.append(0, 0, 50);
  server_.append(1, 50, 50);
  const auto capture = std::make_shared<testing::Capture>();
  capture->hold();
  IggySourceOptions options = bounded(options_for(server_));
  options.heartbeat = std::chrono::seconds(30);  // so that the store is what finds it out
  Running run(options, {}, capture);
  ASSERT_TRUE(capture->wait_for_held(1));
  server_.control({{"delete", at({{"group", "mill"}})}});
  capture->release();
  EXPECT_EQ(run.join().state, ExitState::completed) << why(run.join());
  EXPECT_EQ(stored(server_), (std::vector<int>{49, 49})) << run.log();
}

// What was stored before the group went is stored again, though nothing new was read.
TEST_P(IggyLoss, AGroupThatIsMadeAgainGetsOffsetsOfQuietPartitions) {
  server_.create(1, "mill");
  server_.append(0, 0, 5);
  Running run(options_for(server_));
  ASSERT_TRUE(run.wait_for(5));
  ASSERT_TRUE(testing::eventually([&] { return stored(server_) == std::vector<int>{4}; }));
  server_.control({{"delete", at({{"group", "mill"}})}});
  EXPECT_TRUE(testing::eventually([&] { return stored(server_) == std::vector<int>{4}; }));
  EXPECT_EQ(run.stop().state, ExitState::stopped) << why(run.stop());
}

TEST_P(IggyLoss, INV2_MessagesLostBeforeTheLastStoreFailTheRun) {
  server_.create(1, "mill");
  server_.append(0, 0, 50);
  const auto capture = std::make_shared<testing::Capture>();
  capture->hold();
  Running run(bounded(options_for(server_)), {}, capture);
  ASSERT_TRUE(capture->wait_for_held(1));
  server_.control({{"purge", kTopic}});
  capture->release();
  EXPECT_EQ(run.join().state, ExitState::failed) << run.log();
  EXPECT_THAT(why(run.join()), HasSubstr("on_position_lost"));
}

// --- an answer without messages

TEST_P(IggyLoss, INV2_APollThatGivesNothingIsHeldAgainstTheFigures) {
  server_.create(1);
  server_.append(0, 0, 30);
  fault({{"on", "poll"}, {"do", "empty"}, {"where", {{"kind", "consumer"}, {"strategy", "first"}}}});
  Running run(bounded(options_for(server_)));
  EXPECT_EQ(run.join().state, ExitState::completed) << why(run.join());
  EXPECT_EQ(run.lines(), numbered(0, 30));
}

TEST_P(IggyLoss, INV2_ATimeThatIsNotFoundIsHeldAgainstTheLastMessage) {
  server_.create(1);
  server_.append(0, 0, 30);
  fault({{"on", "poll"}, {"do", "empty"}, {"where", {{"kind", "consumer"}, {"strategy", "timestamp"}}}});
  IggySourceOptions options = bounded(options_for(server_));
  options.start.kind = StreamStart::Kind::timestamp;
  options.start.timestamp = 1;
  Running run(options);
  EXPECT_EQ(run.join().state, ExitState::completed) << why(run.join());
  EXPECT_EQ(run.lines(), numbered(0, 30));
}

TEST_P(IggyLoss, AnEmptyAnswerAfterAReconnectionIsNoLoss) {
  server_.create(1);
  server_.append(0, 0, 5);
  Running run(options_for(server_));
  ASSERT_TRUE(run.wait_for(5));
  fault({{"on", "poll"},
         {"do", "empty"},
         {"times", 2},
         {"where", {{"kind", "consumer"}, {"strategy", "offset"}, {"count", 1}}}});
  server_.control({{"disconnect", true}});
  server_.append(0, 5, 5);
  EXPECT_TRUE(run.wait_for(10)) << run.log();
  EXPECT_EQ(run.stop().state, ExitState::stopped) << why(run.stop());
  EXPECT_EQ(run.lines(), numbered(0, 10));
}

TEST_P(IggyLoss, INV2_ASuddenNoOffsetIsAskedForAgain) {
  server_.create(1);
  server_.append(0, 0, 10);
  Running first(bounded(options_for(server_)));
  ASSERT_EQ(first.join().state, ExitState::completed) << why(first.join());
  server_.append(0, 10, 5);
  fault({{"on", "get_offset"}, {"do", "body"}, {"hex", ""}});
  IggySourceOptions options = bounded(options_for(server_));
  options.start.kind = StreamStart::Kind::latest;
  Running second(options);
  ASSERT_EQ(second.join().state, ExitState::completed) << why(second.join());
  EXPECT_EQ(second.lines(), numbered(10, 5)) << "behind what was stored, and not at the end";
}

// --- messages that are gone

// A feed that has fetched nothing since it began knows the message it began behind.
TEST_P(IggyLoss, INV1_LostMessagesAreSeenByAFeedThatHasFetchedNothing) {
  server_.create(1);
  server_.append(0, 0, 5);
  Running first(bounded(options_for(server_)));
  ASSERT_EQ(first.join().state, ExitState::completed) << why(first.join());
  Running second(options_for(server_));
  ASSERT_TRUE(second.wait_for_log("partitions of Iggy were assigned"));
  server_.control({{"restart", "kill"}});
  server_.append(0, 100, 9);
  EXPECT_EQ(second.join().state, ExitState::failed) << second.log();
  EXPECT_THAT(why(second.join()), HasSubstr("the message at offset 4 (id "));
  EXPECT_TRUE(second.lines().empty()) << "those behind offset 4 without those before them";
}

// A reply that is too large costs the session, and the client asks for less in another one by itself.
TEST_P(IggyLoss, INV1_WhatComesAfterATooLargeReplyIsComparedFirst) {
  server_.create(1);
  server_.append(0, 0, 5);
  Running first(bounded(options_for(server_)));
  ASSERT_EQ(first.join().state, ExitState::completed) << why(first.join());
  server_.append(0, 5, 5);
  fault({{"on", "poll"}, {"do", "oversize"}, {"bytes", 1 << 30}, {"where", kFetches}});
  Running second(bounded(options_for(server_)));
  EXPECT_EQ(second.join().state, ExitState::completed) << why(second.join());
  EXPECT_EQ(second.lines(), numbered(5, 5));
  const nlohmann::json fetches =
      server_.control({{"log", {{"where", {{"command", "poll"}, {"kind", "consumer"}, {"strategy", "offset"}}}}}});
  ASSERT_GT(fetches.size(), 2U);
  const nlohmann::json& compared = fetches[fetches.size() - 2];
  EXPECT_EQ(fetches.back()["value"], 5);
  EXPECT_EQ(compared["value"], 4) << "the message before\n" << fetches.dump(1);
  EXPECT_EQ(compared["connection"], fetches.back()["connection"]) << fetches.dump(1);
}

// An offset that the server has put back to its end would skip the first new message after a crash.
TEST_P(IggyLoss, INV1_TheOldOffsetGoesWhenMessagesWereLost) {
  server_.create(1);
  server_.append(0, 0, 5);
  const auto capture = std::make_shared<testing::Capture>();
  IggySourceOptions options = options_for(server_);
  options.on_position_lost = OnPositionLost::earliest;
  Running run(options, {}, capture);
  ASSERT_TRUE(run.wait_for(5));
  ASSERT_TRUE(testing::eventually([&] { return stored(server_) == std::vector<int>{4}; }));
  capture->hold();
  server_.control({{"restart", "kill"}});
  server_.append(0, 100, 9);
  ASSERT_TRUE(capture->wait_for_held(1)) << run.log();
  EXPECT_EQ(stored(server_), (std::vector<int>{-1})) << "before anything new is written";
  capture->release();
  EXPECT_TRUE(run.wait_for(14)) << run.log();
  EXPECT_EQ(run.stop().state, ExitState::stopped) << why(run.stop());
  EXPECT_EQ(stored(server_), (std::vector<int>{8}));
}

TEST_P(IggyLoss, MessagesRemovedBeforeTheyWereFetchedAreSaid) {
  server_.create(1);
  server_.append(0, 0, 20);
  server_.append(0, 20, 10);
  hold_back();
  Running run(bounded(options_for(server_)));
  ASSERT_TRUE(run.wait_for_log("partitions of Iggy were assigned"));
  server_.control({{"trim", at({{"before", 20}})}});
  give();
  EXPECT_EQ(run.join().state, ExitState::failed) << run.log();
  EXPECT_THAT(why(run.join()), HasSubstr("20 records were removed before they were read"));
}

TEST_P(IggyLoss, ABoundedRunGoesOnBehindRemovedMessagesOnRequest) {
  server_.create(1);
  server_.append(0, 0, 20);
  server_.append(0, 20, 10);
  hold_back();
  IggySourceOptions options = bounded(options_for(server_));
  options.on_position_lost = OnPositionLost::earliest;
  Running run(options);
  ASSERT_TRUE(run.wait_for_log("partitions of Iggy were assigned"));
  server_.control({{"trim", at({{"before", 20}})}});
  give();
  EXPECT_EQ(run.join().state, ExitState::completed) << why(run.join());
  EXPECT_EQ(run.lines(), numbered(20, 10));
  EXPECT_THAT(run.log(), HasSubstr("20 records were removed before they were read"));
}

TEST_P(IggyLoss, ABoundedRunEndsWhereItsMessagesWereRemoved) {
  ends_without({{"trim", at({{"before", 20}})}}, "20 records were removed before they were read");
}

TEST_P(IggyLoss, ABoundedRunEndsWhenItsTopicIsPurged) {
  ends_without({{"purge", kTopic}}, "the server's next offset is 0 now");
}

TEST_P(IggyLoss, ATopicMadeAnewBeginsAsLostPositionsDo) {
  server_.create(1);
  server_.append(0, 0, 5);
  IggySourceOptions options = options_for(server_);
  options.start = {StreamStart::Kind::offset, Offset(0)};
  options.on_position_lost = OnPositionLost::latest;
  Running run(options);
  ASSERT_TRUE(run.wait_for(5));
  server_.control({{"refuse", true}});
  server_.control({{"disconnect", true}});
  server_.control({{"delete", kTopic}});
  server_.create(1);
  server_.append(0, 100, 9);
  server_.control({{"refuse", false}});
  ASSERT_TRUE(run.wait_for_log("the topic was deleted and made anew")) << run.log();
  ASSERT_TRUE(testing::eventually([&] { return stored(server_) == std::vector<int>{8}; })) << run.log();
  server_.append(0, 200, 2);
  EXPECT_TRUE(run.wait_for(7)) << run.log();
  EXPECT_EQ(run.stop().state, ExitState::stopped) << why(run.stop());
  std::vector<std::string> expected = numbered(0, 5);
  for (const std::string& line : numbered(200, 2)) expected.push_back(line);
  EXPECT_EQ(run.lines(), testing::sorted(expected)) << "the new topic is read from its end, as on_position_lost says";
}

// --- ends

TEST_P(IggyLoss, ABoundedRunOfATopicWithoutPartitionsEnds) {
  server_.create(0);
  Running run(bounded(options_for(server_)));
  EXPECT_EQ(run.join().state, ExitState::completed) << why(run.join());
}

// The drain may take far longer than this test: what cannot be stored is not waited for, what can be is stored.
TEST_P(IggyLoss, AFatalErrorOfOneTopicStoresTheOthersAndEnds) {
  server_.create(1);
  server_.append(0, 0, 5);
  const nlohmann::json other{{"stream", "s"}, {"topic", "u"}};
  server_.control({{"create", other}});
  const auto capture = std::make_shared<testing::Capture>();
  capture->hold();
  PipelineOptions pipeline = testing::quick();
  pipeline.drain_timeout = std::chrono::hours(1);
  IggySourceOptions options = options_for(server_);
  options.topics = {"t", "u"};
  Running run(options, {}, capture, pipeline);
  ASSERT_TRUE(capture->wait_for_held(1));
  server_.control({{"delete", other}});
  server_.control({{"create", other}});
  ASSERT_TRUE(testing::eventually([&] { return run.snapshot().phase == PipelineSnapshot::Phase::draining; }));
  capture->release();
  EXPECT_EQ(run.join().state, ExitState::failed);
  EXPECT_THAT(why(run.join()), HasSubstr("topic 's/u' was deleted and made anew"));
  EXPECT_EQ(stored(server_), (std::vector<int>{4})) << "what is written is stored all the same";
}

TEST_P(IggyLoss, AnOffsetThatCannotBeStoredIsNotWaitedFor) {
  server_.create(1);
  server_.append(0, 0, 5);
  fault({{"on", "store_offset"}, {"do", "status"}, {"code", 41}, {"times", 0}, {"where", {{"offset", 4}}}});
  PipelineOptions pipeline = testing::quick();
  pipeline.drain_timeout = std::chrono::hours(1);
  Running run(options_for(server_), {}, std::make_shared<testing::Capture>(), pipeline);
  EXPECT_EQ(run.join().state, ExitState::failed);
  EXPECT_THAT(why(run.join()), HasSubstr("the user may not do this"));
}

// --- lag

/// The total, as it is exported; nothing before it is.
std::string lag(const Running& run) {
  const std::string text = run.metrics();
  const std::size_t at = text.find("\netl_iggy_lag_records{");
  if (at == std::string::npos) return {};
  const std::size_t number = text.find("} ", at) + 2;
  return text.substr(number, text.find('\n', number) - number);
}

TEST_P(IggyLoss, TheLagIsKnownBeforeAnythingIsFetchedOrStored) {
  server_.create(1);
  server_.append(0, 0, 30);
  hold_back();
  Running run(options_for(server_));
  EXPECT_TRUE(testing::eventually([&] { return lag(run) == "30"; })) << run.metrics();
  server_.append(0, 30, 5);
  EXPECT_TRUE(testing::eventually([&] { return lag(run) == "35"; })) << run.metrics();
  give();
  EXPECT_TRUE(run.wait_for(35));
  EXPECT_EQ(run.stop().state, ExitState::stopped);
}

TEST_P(IggyLoss, WhereAnEmptyPartitionBeginsCannotBeKeptAndThatIsSaid) {
  server_.create(1);
  IggySourceOptions options = options_for(server_);
  options.start.kind = StreamStart::Kind::latest;
  Running run(options);
  EXPECT_TRUE(run.wait_for_log("the partition is empty, so that the server cannot keep where it begins")) << run.log();
  EXPECT_EQ(run.stop().state, ExitState::stopped);
}

INSTANTIATE_TEST_SUITE_P(Both, IggyLoss, ::testing::Values("classic", "vsr"),
                         [](const auto& one) { return one.param; });

// Partitions of other members may come here as long as they are not read.
TEST(IggyBoundedMember, INV2_WaitsForWhatOthersHaveToRead) {
  iggy_rig::FakeServer server("vsr");
  server.create(1, "mill");
  server.control({{"ghost", {{"stream", "s"}, {"topic", "t"}, {"group", "mill"}, {"client", "abc"}}}});
  server.append(0, 0, 10);
  Running run(bounded(options_for(server)));
  ASSERT_TRUE(run.wait_for_log("gives this member no partition")) << run.log();
  server.control({{"wait", {{"where", {{"command", "get_offset"}}}, {"count", 6}}}});
  EXPECT_EQ(run.snapshot().phase, PipelineSnapshot::Phase::running) << "nobody has read anything";
  EXPECT_TRUE(run.wait_for_log("waits for other members to read theirs")) << run.log();
  server.control({{"store", {{"stream", "s"}, {"topic", "t"}, {"group", "mill"}, {"offset", 9}}}});
  EXPECT_EQ(run.join().state, ExitState::completed) << why(run.join());
}

// A server of 0.8 answers for other members' partitions as it does to who is no member.
TEST(IggyClassicMember, JoinsOnce) {
  iggy_rig::FakeServer server("classic");
  server.create(6, "mill");
  Running one(options_for(server));
  ASSERT_TRUE(one.wait_for_log("partitions of Iggy were assigned"));
  Running two(options_for(server));
  ASSERT_TRUE(two.wait_for_log("partitions of Iggy were assigned"));
  server.control({{"wait", {{"where", {{"command", "get_topic"}}}, {"count", 30}}}});
  EXPECT_EQ(server.control({{"count", {{"where", {{"command", "join"}, {"answer", "ok"}}}}}}), 2);
  EXPECT_EQ(one.stop().state, ExitState::stopped);
  EXPECT_EQ(two.stop().state, ExitState::stopped);
}

}  // namespace
}  // namespace millrace::iggy_source
