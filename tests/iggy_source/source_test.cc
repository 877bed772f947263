// SPDX-License-Identifier: Apache-2.0
// Goal: the source in a whole pipeline, over both framings. Method: a fake server with codecs of its own; what was
// stored, and when, is read from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/iggy_source/source_fixture.h"

namespace millrace::iggy_source {
namespace {

using ::testing::HasSubstr;
using testing::why;

class IggySourceRuns : public ::testing::TestWithParam<std::string> {
 protected:
  IggySourceRuns() : server_(GetParam()) {}
  iggy_rig::FakeServer server_;
};

TEST_P(IggySourceRuns, INV2_ABoundedRunReadsToTheEndsAndCompletes) {
  server_.create(3);
  server_.append(0, 0, 30);
  server_.append(2, 30, 25);
  Running run(bounded(options_for(server_)));
  EXPECT_EQ(run.join().state, ExitState::completed) << why(run.join());
  EXPECT_EQ(run.lines(), numbered(0, 55));
  EXPECT_EQ(stored(server_), (std::vector<int>{29, -1, 24}));
  // Nothing is stored but by us, and never more than is written.
  EXPECT_EQ(server_.control({{"count", {{"where", {{"command", "poll"}, {"auto_commit", 1}}}}}}), 0);
}

TEST_P(IggySourceRuns, TheNextRunGoesOnBehindWhatIsStored) {
  server_.create(2);
  server_.append(0, 0, 10);
  Running first(bounded(options_for(server_)));
  ASSERT_EQ(first.join().state, ExitState::completed) << why(first.join());
  server_.append(0, 10, 3);
  server_.append(1, 13, 2);
  Running second(bounded(options_for(server_)));
  ASSERT_EQ(second.join().state, ExitState::completed) << why(second.join());
  EXPECT_EQ(second.lines(), numbered(10, 5));
  EXPECT_EQ(stored(server_), (std::vector<int>{12, 1}));
}

TEST_P(IggySourceRuns, AConsumerReadsTheListedPartitions) {
  server_.create(3);
  for (int p = 0; p < 3; ++p) server_.append(static_cast<std::uint32_t>(p), 10 * p, 10);
  IggySourceOptions options = bounded(options_for(server_));
  options.consumer_group.clear();
  options.consumer = "7";
  options.partitions = {"2", "0"};
  Running run(options);
  ASSERT_EQ(run.join().state, ExitState::completed) << why(run.join());
  std::vector<std::string> expected = numbered(0, 10);
  for (const std::string& line : numbered(20, 10)) expected.push_back(line);
  EXPECT_EQ(run.lines(), testing::sorted(expected));
  EXPECT_EQ(stored(server_, "consumer:7"), (std::vector<int>{9, -1, 9}));
}

TEST_P(IggySourceRuns, RecordsSayWhereTheyComeFrom) {
  server_.create(1);
  const auto message = [](const char* payload, const char* headers) {
    return nlohmann::json{{"payload", payload}, {"headers_hex", headers}};
  };
  server_.control({{"append",
                    {{"stream", "s"},
                     {"topic", "t"},
                     {"messages",
                      {message("{\"a\":1}",
                               "02010000006b020100000076"
                               "02010000006e040100000005"),
                       message("{\"a\":2}", "deadbeef"), message("{\"a\":3}", "")}}}}});
  EncodeSpec wrapped;
  wrapped.format = EncodeFormat::json_lines;
  wrapped.wrap = true;
  wrapped.include_headers = true;
  Running run(bounded(options_for(server_)), wrapped);
  ASSERT_EQ(run.join().state, ExitState::completed) << why(run.join());
  std::vector<nlohmann::json> records;
  for (const std::string& line : run.capture().lines()) records.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0]["stream"], "s");
  EXPECT_EQ(records[0]["topic"], "t");
  EXPECT_EQ(records[0]["partition_id"], 0);
  EXPECT_EQ(records[2]["offset"], 2);
  EXPECT_EQ(records[0]["headers"], (nlohmann::json{{"k", "v"}, {"n", "5"}}));
  // No server checks headers: garbage stops nothing, and is kept.
  EXPECT_TRUE(records[1]["headers"].contains("iggy-undecodable-headers")) << records[1];
  EXPECT_EQ(records[1]["payload"], (nlohmann::json{{"a", 2}}));
  EXPECT_EQ(records[0]["timestamp"].get<std::string>().substr(0, 2), "20");
}

TEST_P(IggySourceRuns, StartLatestIsStoredBeforeAnythingComes) {
  server_.create(1, "mill");
  server_.append(0, 0, 10);
  IggySourceOptions options = options_for(server_);
  options.start.kind = StreamStart::Kind::latest;
  Running run(options);
  ASSERT_TRUE(run.wait_for_log("partitions of Iggy were assigned"));
  EXPECT_EQ(stored(server_), (std::vector<int>{9}));
  server_.append(0, 10, 2);
  EXPECT_TRUE(run.wait_for(2));
  EXPECT_EQ(run.stop().state, ExitState::stopped) << why(run.stop());
  EXPECT_EQ(run.lines(), numbered(10, 2));
  EXPECT_EQ(stored(server_), (std::vector<int>{11})) << "the last commit is made at the stop";
}

TEST_P(IggySourceRuns, StartAtAnOffset) {
  server_.create(1);
  server_.append(0, 0, 10);
  IggySourceOptions options = bounded(options_for(server_));
  options.start = {StreamStart::Kind::offset, Offset(7)};
  Running run(options);
  ASSERT_EQ(run.join().state, ExitState::completed) << why(run.join());
  EXPECT_EQ(run.lines(), numbered(7, 3));
}

// Positions follow what is written, never what is read: a sink that holds everything back keeps the offset back.
TEST_P(IggySourceRuns, INV1_NothingIsStoredBeforeItIsWritten) {
  server_.create(1);
  server_.append(0, 0, 50);
  const auto capture = std::make_shared<testing::Capture>();
  capture->hold();
  Running run(options_for(server_), {}, capture);
  ASSERT_TRUE(capture->wait_for_held(1));
  server_.control({{"wait", {{"where", {{"command", "poll"}}}, {"count", 3}}}});
  EXPECT_EQ(stored(server_), (std::vector<int>{-1}));
  capture->release();
  EXPECT_TRUE(run.wait_for(50));
  EXPECT_EQ(run.stop().state, ExitState::stopped);
  EXPECT_EQ(stored(server_), (std::vector<int>{49}));
}

TEST_P(IggySourceRuns, ARestartOfTheServerIsWaitedOut) {
  server_.create(2);
  server_.append(0, 0, 20);
  Running run(options_for(server_));
  ASSERT_TRUE(run.wait_for(20));
  server_.control({{"restart", "term"}});
  server_.append(1, 20, 20);
  EXPECT_TRUE(run.wait_for(40)) << run.log();
  EXPECT_EQ(run.stop().state, ExitState::stopped) << why(run.stop());
  EXPECT_EQ(run.distinct().size(), 40U);
  EXPECT_EQ(stored(server_), (std::vector<int>{19, 19}));
}

TEST_P(IggySourceRuns, FaultsOfTheConnectionAreRiddenOut) {
  server_.create(2);
  server_.append(0, 0, 200);
  server_.append(1, 200, 200);
  for (const nlohmann::json& script :
       {nlohmann::json{{"on", "poll"}, {"do", "drop"}, {"nth", 2}},
        nlohmann::json{{"on", "poll"}, {"do", "drop"}, {"after_bytes", 100}, {"nth", 4}},
        nlohmann::json{{"on", "poll"}, {"do", "torn"}, {"size", 77}, {"nth", 5}},
        nlohmann::json{{"on", "poll"}, {"do", "corrupt"}, {"nth", 7}},
        nlohmann::json{{"on", "poll"}, {"do", "oversize"}, {"bytes", 150'000'000}, {"where", {{"count_over", 30}}}},
        nlohmann::json{{"on", "store_offset"}, {"do", "drop"}, {"apply", true}},
        nlohmann::json{{"on", "store_offset"}, {"do", "status"}, {"code", 40}, {"nth", 3}}}) {
    server_.control({{"fault", script}});
  }
  IggySourceOptions options = bounded(options_for(server_));
  options.batch_length = 40;
  Running run(options);
  EXPECT_EQ(run.join().state, ExitState::completed) << why(run.join()) << run.log();
  EXPECT_EQ(run.lines(), numbered(0, 400)) << "every record once: a session that ends repeats no message";
  EXPECT_EQ(stored(server_), (std::vector<int>{199, 199}));
}

// A killed server forgets what it had not written yet, and puts the offsets that it keeps back to its end.
TEST_P(IggySourceRuns, INV1_LostMessagesAreSaidWithBothNumbers) {
  server_.create(1);
  server_.append(0, 0, 5);
  Running first(bounded(options_for(server_)));
  ASSERT_EQ(first.join().state, ExitState::completed);
  server_.control({{"restart", "kill"}});
  Running second(bounded(options_for(server_)));
  EXPECT_EQ(second.join().state, ExitState::failed);
  EXPECT_THAT(why(second.join()), HasSubstr("'s/t' partition 0: the kept position is 1, but the broker holds nothing"));
  EXPECT_THAT(why(second.join()), HasSubstr("on_position_lost"));
  IggySourceOptions latest = options_for(server_);
  latest.on_position_lost = OnPositionLost::latest;
  Running third(latest);
  ASSERT_TRUE(third.wait_for_log("partitions of Iggy were assigned")) << third.log();
  server_.append(0, 100, 3);
  EXPECT_TRUE(third.wait_for(3)) << "the first new message has offset 0, which the stored offset would have skipped";
  EXPECT_EQ(third.stop().state, ExitState::stopped);
  EXPECT_EQ(third.lines(), numbered(100, 3));
}

// While it runs: others' new messages stand where those stood that were read.
TEST_P(IggySourceRuns, INV1_MessagesLostUnderARunAreSeen) {
  server_.create(1);
  server_.append(0, 0, 5);
  Running failing(options_for(server_));
  ASSERT_TRUE(failing.wait_for(5));
  server_.control({{"restart", "kill"}});
  server_.append(0, 100, 9);
  EXPECT_EQ(failing.join().state, ExitState::failed) << failing.log();
  EXPECT_THAT(why(failing.join()), HasSubstr("'s/t' partition 0"));
  EXPECT_THAT(why(failing.join()), HasSubstr("on_position_lost"));
}

TEST_P(IggySourceRuns, MessagesLostUnderARunAreReadAnewOnRequest) {
  server_.create(1);
  server_.append(0, 0, 5);
  IggySourceOptions options = options_for(server_);
  options.on_position_lost = OnPositionLost::earliest;
  Running run(options);
  ASSERT_TRUE(run.wait_for(5));
  server_.control({{"restart", "kill"}});
  server_.append(0, 100, 9);
  EXPECT_TRUE(run.wait_for(14)) << run.log();
  EXPECT_EQ(run.stop().state, ExitState::stopped) << why(run.stop());
  EXPECT_EQ(stored(server_), (std::vector<int>{8}));
}

// Three members: one after the other comes, the first goes while records are under way. Each record is written, each
// offset reaches the end.
TEST_P(IggySourceRuns, INV1_MembersComeAndGoWithoutLoss) {
  constexpr int kPartitions = 6;
  constexpr int kEach = 200;
  server_.create(kPartitions);
  const auto fill = [&](int round) {
    for (int p = 0; p < kPartitions; ++p) {
      server_.append(static_cast<std::uint32_t>(p), (round * kPartitions + p) * kEach, kEach);
    }
  };
  IggySourceOptions options = options_for(server_);
  options.batch_length = 20;
  const auto shared = std::make_shared<testing::Capture>();
  fill(0);
  Running one(options, {}, shared);
  ASSERT_TRUE(one.wait_for(100));
  Running two(options, {}, shared);
  fill(1);
  Running three(options, {}, shared);
  ASSERT_TRUE(one.wait_for(kPartitions * kEach));
  fill(2);
  EXPECT_EQ(one.stop().state, ExitState::stopped) << why(one.stop());
  fill(3);
  EXPECT_TRUE(two.wait_for(4 * kPartitions * kEach)) << two.log() << three.log();
  EXPECT_TRUE(testing::eventually([&] { return stored(server_) == std::vector<int>(kPartitions, 4 * kEach - 1); }))
      << ::testing::PrintToString(stored(server_));
  EXPECT_EQ(two.stop().state, ExitState::stopped) << why(two.stop());
  EXPECT_EQ(three.stop().state, ExitState::stopped) << why(three.stop());
}

TEST_P(IggySourceRuns, AMissingTopicIsWaitedForThenNamed) {
  server_.create(1);
  IggySourceOptions options = options_for(server_);
  options.topics = {"nowhere"};
  options.connect_timeout = std::chrono::milliseconds(100);
  Running run(options);
  EXPECT_EQ(run.join().state, ExitState::failed);
  EXPECT_THAT(why(run.join()), HasSubstr("there is no topic 's/nowhere'"));
}

INSTANTIATE_TEST_SUITE_P(Both, IggySourceRuns, ::testing::Values("classic", "vsr"),
                         [](const auto& one) { return one.param; });

// Members of before a restart still count, and own everything: who has their name takes it up again.
TEST(IggySourceVsr, ANamedMemberTakesItsPartitionsUpAgain) {
  iggy_rig::FakeServer server("vsr");
  server.create(2);
  server.append(0, 0, 10);
  IggySourceOptions options = options_for(server);
  options.member = "mill-1";
  {
    Running run(options);
    ASSERT_TRUE(run.wait_for(10));
    server.control({{"restart", "term"}});
    EXPECT_EQ(run.stop().state, ExitState::stopped);
  }
  server.append(1, 10, 5);
  Running again(options);
  EXPECT_TRUE(again.wait_for(5)) << again.log();
  EXPECT_EQ(again.stop().state, ExitState::stopped);
}

// Who asks for a partition then has to wait until it is durable, or for the server's patience to end.
TEST(IggySourceVsr, TheGroupIsToldWhatIsUnderWay) {
  iggy_rig::FakeServer server("vsr");
  server.create(1);
  server.append(0, 0, 50);
  const auto capture = std::make_shared<testing::Capture>();
  capture->hold();
  Running run(options_for(server), {}, capture);
  const auto told = server.control(
      {{"wait", {{"where", {{"command", "poll"}, {"kind", "group"}, {"strategy", "offset"}, {"value", 49}}}}}});
  EXPECT_FALSE(told.empty());
  EXPECT_EQ(stored(server), (std::vector<int>{-1}));
  capture->release();
  EXPECT_EQ(run.stop().state, ExitState::stopped) << why(run.stop());
  EXPECT_EQ(stored(server), (std::vector<int>{49}));
}

TEST(IggySourceVsr, AMemberWithoutPartitionsSaysSo) {
  iggy_rig::FakeServer server("vsr");
  server.create(1, "mill");
  server.control({{"ghost", {{"stream", "s"}, {"topic", "t"}, {"group", "mill"}, {"client", "abc"}}}});
  server.append(0, 0, 10);
  Running run(options_for(server));
  EXPECT_TRUE(run.wait_for_log("gives this member no partition")) << run.log();
  server.control({{"leave", {{"stream", "s"}, {"topic", "t"}, {"group", "mill"}, {"client", "abc"}}}});
  EXPECT_TRUE(run.wait_for(10));
  EXPECT_EQ(run.stop().state, ExitState::stopped);
}

TEST(IggySourceVsr, ATopicThatIsGoneHoldsUpNoOther) {
  iggy_rig::FakeServer server("vsr");
  server.create(2, "mill");
  const nlohmann::json other{{"stream", "s"}, {"topic", "u"}};
  server.control({{"create", other}});
  const nlohmann::json ghost{{"stream", "s"}, {"topic", "t"}, {"group", "mill"}, {"client", "abc"}};
  server.control({{"ghost", ghost}});
  IggySourceOptions options = options_for(server);
  options.topics = {"t", "u"};
  options.on_position_lost = OnPositionLost::earliest;
  Running run(options);
  ASSERT_TRUE(run.wait_for_log("partitions of Iggy were assigned")) << run.log();
  server.control({{"delete", other}});
  ASSERT_TRUE(run.wait_for_log("the Iggy server is not as it should be")) << run.log();
  server.control({{"leave", ghost}});
  server.append(0, 0, 5);
  server.append(1, 5, 5);
  EXPECT_TRUE(run.wait_for(10)) << "what the other member had is taken over\n" << run.log();
  // And when it comes back it is read.
  server.control({{"create", other}});
  server.control({{"append", {{"stream", "s"}, {"topic", "u"}, {"messages", {{{"payload", "{\"n\":10}"}}}}}}});
  EXPECT_TRUE(run.wait_for(11)) << run.log();
  EXPECT_EQ(run.stop().state, ExitState::stopped) << why(run.stop());
}

// It is said once, though another partition goes on and makes the connection look well.
TEST(IggySourceVsr, APartitionThatCannotBeReadIsSaidOnce) {
  iggy_rig::FakeServer server("vsr");
  server.create(2);
  server.control({{"fault",
                   {{"on", "poll"},
                    {"do", "status"},
                    {"code", 20},
                    {"times", 0},
                    {"where", {{"kind", "consumer"}, {"partition", 1}, {"count_over", 1}}}}}});
  IggySourceOptions options = options_for(server);
  options.connections = 1;
  Running run(options);
  const nlohmann::json polls{
      {"command", "poll"}, {"kind", "consumer"}, {"partition", 1}, {"count", options.batch_length}};
  for (int i = 0; i < 3; ++i) {
    server.control({{"wait", {{"where", polls}, {"count", i + 1}}}});
    server.append(0, i, 1);
    ASSERT_TRUE(run.wait_for(static_cast<std::size_t>(i) + 1)) << run.log();
  }
  server.control({{"wait", {{"where", polls}, {"count", 4}}}});
  EXPECT_EQ(run.stop().state, ExitState::stopped) << why(run.stop());
  const std::string log = run.log();
  const std::string said = "messages cannot be fetched";
  EXPECT_NE(log.find(said), std::string::npos);
  EXPECT_EQ(log.find(said), log.rfind(said)) << log;
}

TEST(IggySourceVsr, AnEvictionIsFollowedByAnotherLogin) {
  iggy_rig::FakeServer server("vsr");
  server.create(2);
  server.append(0, 0, 10);
  Running run(options_for(server));
  ASSERT_TRUE(run.wait_for(10));
  server.control({{"evict", {{"client", "all"}, {"reason", 13}}}});
  server.append(1, 10, 10);
  EXPECT_TRUE(run.wait_for(20)) << run.log();
  EXPECT_EQ(run.stop().state, ExitState::stopped);
  EXPECT_EQ(stored(server), (std::vector<int>{9, 9}));
}

}  // namespace
}  // namespace millrace::iggy_source
