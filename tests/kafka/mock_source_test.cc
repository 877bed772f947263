// SPDX-License-Identifier: Apache-2.0
// Goal: what a lane lends is what the brokers hold, and what fails there is ridden through or named. Method: a source
// without a pipeline over the library's own brokers, which fail on demand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kafka/mock_cluster.h"

namespace millrace::kafka {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(KafkaLane, LendsKeysHeadersAndTimesAsTheyCame) {
  MockCluster cluster;
  cluster.put(0, "one", "k1", {{"a", "1"}, {"a", "2"}, {"empty", ""}}, 1'500);
  cluster.put(0, "two", "", {}, 2'000);
  cluster.put(0, "", std::nullopt, {{"b", std::string("\0x", 2)}}, 3'000);
  cluster.flush();
  Rig rig(cluster);
  rig.options.bounded = true;
  rig.open();
  ASSERT_TRUE(rig.assign());
  std::vector<std::string> payloads;
  std::vector<std::string> keys;
  std::vector<std::string> headers;
  std::vector<std::int64_t> times;
  while (payloads.size() < 3) {
    auto batch = rig.next();
    ASSERT_TRUE(batch) << batch.error().message();
    EXPECT_EQ(batch->origin->stream, "p");
    EXPECT_EQ(batch->origin->topic, "orders");
    for (std::size_t i = 0; i < batch->payloads.size(); ++i) {
      const RecordMeta meta = batch->meta(i);
      EXPECT_EQ(meta.offset, Offset(static_cast<std::int64_t>(payloads.size())));
      payloads.emplace_back(batch->payloads[i]);
      keys.push_back(meta.has_key ? "'" + std::string(meta.key) + "'" : "none");
      times.push_back(meta.timestamp);
      std::string all;
      for (std::size_t h = 0; h < meta.header_count; ++h)
        all += std::string(meta.headers[h].name) + "=" + std::string(meta.headers[h].value) + ";";
      headers.push_back(all);
    }
  }
  EXPECT_THAT(payloads, testing::ElementsAre("one", "two", ""));
  EXPECT_THAT(keys, testing::ElementsAre("'k1'", "''", "none"));
  EXPECT_THAT(times, testing::ElementsAre(1'500'000, 2'000'000, 3'000'000));
  EXPECT_THAT(headers, testing::ElementsAre("a=1;a=2;empty=;", "", std::string("b=\0x;", 5)));
}

TEST(KafkaLane, BoundedEndsAtTheEndOfTheStart) {
  MockCluster cluster;
  for (int i = 0; i < 5; ++i) cluster.put(0, std::to_string(i));
  cluster.flush();
  Rig rig(cluster);
  rig.options.bounded = true;
  rig.open();
  ASSERT_TRUE(rig.assign());
  for (int i = 5; i < 9; ++i) cluster.put(0, std::to_string(i));
  cluster.flush();
  std::size_t seen = 0;
  while (true) {
    auto batch = rig.next();
    if (!batch) {
      EXPECT_EQ(batch.error().code(), ErrorCode::closed) << batch.error().message();
      break;
    }
    seen += batch->payloads.size();
  }
  EXPECT_EQ(seen, 5U);
  const auto until = std::chrono::steady_clock::now() + Rig::kDeadline;
  bool finished = false;
  while (!finished && std::chrono::steady_clock::now() < until) {
    auto event = rig.source->poll_events(std::chrono::milliseconds(20));
    ASSERT_TRUE(event);
    finished = std::holds_alternative<Finished>(*event);
  }
  EXPECT_TRUE(finished);
}

std::string payloads_of(KafkaTombstone what) {
  MockCluster cluster;
  cluster.put(0, "{}", "a");
  cluster.put(0, std::nullopt, "b");
  cluster.put(0, "", "c");
  cluster.flush();
  Rig rig(cluster);
  rig.options.on_tombstone = what;
  rig.options.bounded = true;
  rig.open();
  EXPECT_TRUE(rig.assign());
  std::string all;
  for (auto batch = rig.next(); batch; batch = rig.next()) {
    for (std::size_t i = 0; i < batch->payloads.size(); ++i) {
      all += std::string(batch->meta(i).key) + "=" + std::string(batch->payloads[i]) + "@" +
             std::to_string(batch->offset(i).value()) + ";";
    }
  }
  return all;
}

TEST(KafkaLane, ATombstoneIsWhatTheOptionSaysAndAnEmptyValueIsNone) {
  EXPECT_EQ(payloads_of(KafkaTombstone::empty), "a={}@0;b=@1;c=@2;");
  EXPECT_EQ(payloads_of(KafkaTombstone::json_null), "a={}@0;b=null@1;c=@2;");
  EXPECT_EQ(payloads_of(KafkaTombstone::skip), "a={}@0;c=@2;");
}

TEST(KafkaPositions, INV1_AFailedStoreIsTriedAgainUntilItIsStored) {
  MockCluster cluster;
  for (int i = 0; i < 3; ++i) cluster.put(0, std::to_string(i));
  cluster.flush();
  {
    Rig rig(cluster);
    rig.open();
    ASSERT_TRUE(rig.assign());
    std::int64_t at = 0;
    while (at < 3) {
      auto batch = rig.next();
      ASSERT_TRUE(batch);
      at += static_cast<std::int64_t>(batch->payloads.size());
    }
    cluster.answer(kOffsetCommit,
                   {RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS});
    const PartitionWatermark moved{PartitionId(0), Watermark(3)};
    ASSERT_TRUE(rig.source->commit(std::span(&moved, 1)));
    ASSERT_TRUE(rig.source->flush_commits_by(std::chrono::steady_clock::now() + Rig::kDeadline));
  }
  cluster.put(0, "3");
  cluster.flush();
  Rig again(cluster);
  again.open();
  ASSERT_TRUE(again.assign());
  auto batch = again.next();
  ASSERT_TRUE(batch) << batch.error().message();
  EXPECT_EQ(batch->offset(0), Offset(3));
}

TEST(KafkaPositions, AFlushEndsAtItsDeadlineWithAnError) {
  MockCluster cluster;
  cluster.put(0, "0");
  cluster.flush();
  Rig rig(cluster);
  rig.open();
  ASSERT_TRUE(rig.assign());
  ASSERT_TRUE(rig.next());
  rd_kafka_mock_broker_set_down(cluster.get(), 1);
  const PartitionWatermark moved{PartitionId(0), Watermark(1)};
  ASSERT_TRUE(rig.source->commit(std::span(&moved, 1)));
  const auto flushed = rig.source->flush_commits_by(std::chrono::steady_clock::now() + std::chrono::milliseconds(300));
  ASSERT_FALSE(flushed);
  EXPECT_TRUE(flushed.error().is_retryable());
}

TEST(KafkaLane, ABrokerThatIsAwayForAWhileIsWaitedFor) {
  MockCluster cluster;
  cluster.put(0, "before");
  cluster.flush();
  Rig rig(cluster);
  rig.open();
  ASSERT_TRUE(rig.assign());
  ASSERT_TRUE(rig.next());
  rd_kafka_mock_broker_set_down(cluster.get(), 1);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(rig.source->poll_events(std::chrono::milliseconds(10)));
    ASSERT_TRUE(rig.lanes[0]->poll(10, std::chrono::milliseconds(10)));
  }
  rd_kafka_mock_broker_set_up(cluster.get(), 1);
  cluster.put(0, "after");
  cluster.flush();
  auto batch = rig.next();
  ASSERT_TRUE(batch) << batch.error().message();
  EXPECT_EQ(batch->payloads[0], "after");
}

TEST(KafkaSource, APartitionThatIsNotThereIsNamed) {
  MockCluster cluster;
  Rig rig(cluster);
  rig.options.partitions = {"4"};
  rig.open();
  const auto assigned = rig.assign();
  ASSERT_FALSE(assigned);
  EXPECT_THAT(assigned.error().message(), HasSubstr("topic 'orders' has no partition 4"));
}

// The brokers did answer: that no retry heals it is told, and not that nobody was there.
TEST(KafkaSource, ARefusedQuestionForTheEndsIsNamedWithAWayOut) {
  MockCluster cluster;
  cluster.answer(kListOffsets, {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED});
  Rig rig(cluster);
  rig.options.bounded = true;
  rig.open();
  const auto assigned = rig.assign();
  ASSERT_FALSE(assigned);
  EXPECT_EQ(assigned.error().code(), ErrorCode::permission_denied);
  EXPECT_THAT(assigned.error().message(),
              AllOf(HasSubstr("allow this user to Read and Describe the topic"), Not(HasSubstr("no answer"))));
}

TEST(KafkaSource, ARefusedReadOfTheGroupIsNamedWithAWayOut) {
  MockCluster cluster;
  cluster.answer(kOffsetFetch, {RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED});
  Rig rig(cluster);
  rig.open();
  const auto assigned = rig.assign();
  ASSERT_FALSE(assigned);
  EXPECT_EQ(assigned.error().code(), ErrorCode::permission_denied);
  EXPECT_THAT(assigned.error().message(), HasSubstr("allow this user to Read the group"));
}

}  // namespace
}  // namespace millrace::kafka
