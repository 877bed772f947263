// SPDX-License-Identifier: Apache-2.0
// Goal: what goes wrong with storing positions is told while it lasts and no longer, and what the engine withheld is
// never stored. Method: sources and a bare position store over the library's own brokers, which fail on demand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connectors/kafka/options.h"
#include "connectors/kafka/position_store.h"
#include "millrace/pipeline/config_chain.h"
#include "millrace/pipeline/pipeline.h"
#include "millrace/testing/capture_sink.h"
#include "millrace/testing/manual_clock.h"
#include "tests/kafka/mock_cluster.h"

namespace millrace::kafka {
namespace {

using ::testing::HasSubstr;

// The library itself does not try again after this one.
constexpr auto kPassing = RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED;

// The last commit of a run is made when poll_events is not called any more.
TEST(KafkaPositions, AFailureThatPassedIsNotToldByTheLastCommit) {
  MockCluster cluster;
  cluster.put(3);
  Rig rig(cluster);
  rig.open();
  ASSERT_TRUE(rig.assign());
  cluster.answer(kOffsetCommit, {kPassing});
  ASSERT_TRUE(rig.commit(3));
  ASSERT_TRUE(Rig::until([&] {
    EXPECT_TRUE(rig.source->poll_events(std::chrono::milliseconds(1)));
    return rig.log->count("positions could not be stored") == 1;
  }));
  EXPECT_TRUE(Rig::until([&] { return rig.commit(3).has_value(); }));
  EXPECT_TRUE(rig.source->flush_commits_by(std::chrono::steady_clock::now() + Rig::kDeadline));
  EXPECT_EQ(cluster.position("g"), 3);
}

struct StoreRig {
  explicit StoreRig(MockCluster& cluster, std::string outside_of = "", Clock& clock = Clock::real()) {
    const KafkaSourceOptions options{.brokers = {cluster.brokers()}, .topics = {"orders"}, .group = "g"};
    auto conf = source_conf(options, "p");
    EXPECT_TRUE(conf);
    auto made = Client::make(RD_KAFKA_CONSUMER, *std::move(conf), {}, nullptr);
    EXPECT_TRUE(made);
    client = *std::move(made);
    store.emplace(PositionStore::Setup{.client = client,
                                       .traffic = &traffic,
                                       .metrics = *Metrics::make({}),
                                       .clock = &clock,
                                       .log = Logger(log, "store"),
                                       .control = {},
                                       .outside_of = std::move(outside_of)});
    for (int i = 0; i < 2; ++i)
      store->own(PartitionId(static_cast<std::uint32_t>(i)), {{"orders", i}, Watermark(0), "millrace:1"});
  }
  void settle(std::uint32_t partition, std::int64_t at) {
    const PartitionWatermark moved{PartitionId(partition), Watermark(at)};
    store->settle(std::span(&moved, 1));
  }
  [[nodiscard]] Result<void> flush() { return store->flush_by(std::chrono::steady_clock::now() + Rig::kDeadline); }
  GroupTraffic traffic;
  std::shared_ptr<Lines> log = std::make_shared<Lines>();
  std::shared_ptr<Client> client;
  std::optional<PositionStore> store;
};

TEST(KafkaPositionStore, TroubleIsToldOnlyWhileSomethingIsToBeStored) {
  MockCluster cluster(2);
  StoreRig rig(cluster);
  cluster.answer(kOffsetCommit, std::vector(1000, kPassing));
  rig.settle(0, 5);
  rig.store->send();
  ASSERT_TRUE(Rig::until([&] { return rig.store->serve().has_value() && rig.store->trouble(); }));
  rig.store->disown(PartitionId(0));
  EXPECT_FALSE(rig.store->trouble()) << "nothing of this run is to be stored";
  rig.settle(1, 7);
  EXPECT_FALSE(rig.store->trouble()) << "what failed was another partition's, which is gone";
}

TEST(KafkaPositionStore, ARefusedPartitionHoldsUpNoOther) {
  MockCluster cluster(2);
  millrace::testing::ManualClock clock;  // a refused one is not tried again by itself
  StoreRig rig(cluster, "", clock);
  rig.settle(0, 5);
  cluster.answer(kOffsetCommit, {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED});
  rig.store->send();
  ASSERT_TRUE(Rig::until([&] {
    EXPECT_TRUE(rig.store->serve()) << "it ends no run";
    return rig.store->refusal().has_value();
  }));
  EXPECT_FALSE(rig.store->trouble());
  EXPECT_EQ(rig.log->count("position of orders[0]"), 1U);
  rig.settle(1, 7);
  rig.store->send();
  ASSERT_TRUE(
      Rig::until([&] { return rig.store->serve().has_value() && rig.store->stored(PartitionId(1)) == Watermark(7); }));
  EXPECT_EQ(rig.store->stored(PartitionId(0)), Watermark(0));
  // At the end it is tried once more, and told.
  cluster.answer(kOffsetCommit, {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED});
  EXPECT_TRUE(rig.flush());
  ASSERT_TRUE(rig.store->refusal());
  EXPECT_THAT(rig.store->refusal()->message(), HasSubstr("orders[0]"));
  EXPECT_TRUE(rig.flush());
  EXPECT_FALSE(rig.store->refusal()) << "it is allowed by now";
  EXPECT_EQ(cluster.position("g", 0), 5);
}

TEST(KafkaPositionStore, OneWithoutAGroupWaitsForItsMembersToGo) {
  MockCluster cluster(2);
  StoreRig rig(cluster, "g");
  rig.settle(0, 5);
  cluster.answer(kOffsetCommit, {RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID});
  EXPECT_TRUE(rig.flush());
  EXPECT_EQ(rig.log->count("the group 'g' has members"), 2U);
  StoreRig member(cluster);
  member.settle(0, 9);
  cluster.answer(kOffsetCommit, {RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID});
  EXPECT_FALSE(member.flush()) << "the partition is another's by now";
}

TEST(KafkaPositions, ARefusedPartitionFailsTheEndOfTheRunAndNothingBefore) {
  MockCluster cluster;
  cluster.put(3);
  Rig rig(cluster);
  rig.open();
  ASSERT_TRUE(rig.assign());
  cluster.answer(kOffsetCommit, std::vector(1000, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED));
  ASSERT_TRUE(rig.commit(3));
  ASSERT_TRUE(Rig::until([&] {
    EXPECT_TRUE(rig.source->poll_events(std::chrono::milliseconds(1)));
    EXPECT_TRUE(rig.commit(3));
    return rig.log->count("position of orders[0]") == 1;
  }));
  const auto flushed = rig.source->flush_commits_by(std::chrono::steady_clock::now() + Rig::kDeadline);
  ASSERT_FALSE(flushed);
  EXPECT_THAT(flushed.error().message(), HasSubstr("orders[0]"));
}

struct Barrier final : DrainBarrier {
  std::vector<PartitionWatermark> wait() override { return {{PartitionId(0), Watermark(3)}}; }
};

// A member that closes is asked to give its partitions back, like any other.
TEST(KafkaPositions, INV1_NothingIsStoredWhileClosing) {
  MockCluster cluster;
  cluster.put(3);
  {
    Rig rig(cluster);
    rig.options.partitions.clear();
    rig.begin_revocation = [](std::span<const LaneId>) { return std::make_shared<Barrier>(); };
    rig.open();
    ASSERT_TRUE(rig.assign());
    ASSERT_TRUE(rig.next());
    rig.source->close_by(std::chrono::steady_clock::now() + Rig::kDeadline);
  }
  EXPECT_EQ(cluster.position("g"), 0);
}

TEST(KafkaPositions, INV1_ASinkThatDoesNotCloseLeavesThePositionWhereItWas) {
  MockCluster cluster;
  cluster.put(10);
  const auto capture = std::make_shared<millrace::testing::Capture>();
  millrace::testing::CaptureSinkOptions chunks;
  chunks.policy.max_records = 10;
  capture->fail_close(Error::fatal(ErrorCode::io, "the disk is gone"));
  PipelineOptions options;
  options.checkpoint_interval = std::chrono::hours(1);
  Pipeline pipeline(options);
  pipeline.sink(millrace::testing::CaptureSink::make(capture, chunks)).chain_factory(make_config_chain({}, {}));
  const KafkaSourceOptions source{.brokers = {cluster.brokers()}, .topics = {"orders"}, .group = "g"};
  RunReport report;
  {
    Thread run("run", [&] { report = pipeline.run(KafkaSource::make(source)); });
    EXPECT_TRUE(capture->wait_for_batches(1));
    pipeline.stop_handle().request();
    run.join();
  }
  EXPECT_EQ(report.state, ExitState::failed);
  EXPECT_EQ(cluster.position("g"), 0);
}

}  // namespace
}  // namespace millrace::kafka
