// SPDX-License-Identifier: Apache-2.0
// Goal: what a group or a broker answers ends a run only when no patience helps, and what is waited for is said.
// Method: members of a group over the library's own brokers, which fail on demand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connectors/kafka/lane.h"
#include "connectors/kafka/options.h"
#include "connectors/kafka/partition_queue.h"
#include "tests/kafka/mock_cluster.h"

namespace millrace::kafka {
namespace {

using testing::HasSubstr;

TEST(KafkaGroup, AMemberThatIsForgottenBeforeItBeginsJoinsAgain) {
  MockCluster cluster;
  cluster.put(1);
  cluster.answer(kOffsetCommit, {RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION});
  Rig rig(cluster);
  rig.options.partitions.clear();
  rig.options.properties["session.timeout.ms"] = "6000";  // in which the member that was is waited for
  rig.open();
  const auto assigned = rig.assign();
  ASSERT_TRUE(assigned) << assigned.error().message();
  EXPECT_EQ(rig.log->count("it joins again"), 1U);
  const auto batch = rig.next();
  ASSERT_TRUE(batch) << batch.error().message();
  EXPECT_EQ(batch->payloads[0], "0");
}

TEST(KafkaGroup, ARunThatNamesItsPartitionsWaitsForMembersAndSaysWhoIsInTheWay) {
  MockCluster cluster;
  cluster.answer(kOffsetCommit, {RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID});
  Rig patient(cluster);
  patient.open();
  EXPECT_TRUE(patient.assign()) << "the members are gone by now";
  cluster.answer(kOffsetCommit, std::vector(1000, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID));
  Rig refused(cluster);
  refused.options.group = "h";
  refused.options.connect_timeout = std::chrono::milliseconds(200);
  refused.open();
  const auto assigned = refused.assign();
  ASSERT_FALSE(assigned);
  EXPECT_TRUE(assigned.error().is_fatal());
  EXPECT_THAT(assigned.error().message(), HasSubstr("the group 'h' has members"));
}

TEST(KafkaGroup, AnInstanceThatIsFencedEndsTheRun) {
  MockCluster cluster;
  cluster.answer(kJoinGroup, {RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID});
  Rig rig(cluster);
  rig.options.partitions.clear();
  rig.options.properties["group.instance.id"] = "one";
  rig.open();
  const auto assigned = rig.assign();
  ASSERT_FALSE(assigned);
  EXPECT_TRUE(assigned.error().is_fatal());
  EXPECT_THAT(assigned.error().message(), HasSubstr("give each one its own"));
}

std::shared_ptr<Client> consumer(const MockCluster& cluster) {
  const KafkaSourceOptions options{.brokers = {cluster.brokers()}, .topics = {"orders"}, .group = "g"};
  auto conf = source_conf(options, "p");
  EXPECT_TRUE(conf);
  auto made = Client::make(RD_KAFKA_CONSUMER, *std::move(conf), {}, nullptr);
  EXPECT_TRUE(made);
  return *std::move(made);
}

// A thread that was left behind may end its lane when the next one is read by another.
TEST(KafkaLane, ALateEndOfALaneLeavesItsSuccessorAwake) {
  MockCluster cluster;
  const auto client = consumer(cluster);
  const Partition partition{"orders", 0};
  const auto queue = std::make_shared<PartitionQueue>(client, partition);
  const auto lane = [&] {
    return std::make_unique<KafkaLane>(KafkaLane::Setup{.client = client,
                                                        .queue = queue,
                                                        .partition = partition,
                                                        .progress = std::make_shared<LaneProgress>(),
                                                        .metrics = *Metrics::make({})});
  };
  const auto woken = std::make_shared<EventCount>();
  const auto nobody = std::make_shared<EventCount>();
  auto old = lane();
  old->set_waker(Waker(nobody));
  auto successor = lane();
  successor->set_waker(Waker(woken));
  old.reset();
  const auto before = woken->ticket();
  const auto before_nobody = nobody->ticket();
  const ListHandle list = to_list({partition});
  list->elems[0].offset = 0;
  ASSERT_EQ(rd_kafka_assign(client->get(), list.get()), RD_KAFKA_RESP_ERR_NO_ERROR);
  cluster.put(1);
  EXPECT_TRUE(woken->wait_until(before, Clock::real(), Clock::real().now() + Rig::kDeadline));
  EXPECT_EQ(nobody->ticket(), before_nobody);
}

/// Two bounded members, of which the first reads its partition and the second reads nothing.
struct TwoMembers {
  TwoMembers() : cluster(2), first(cluster), second(cluster) {
    cluster.put(0, "a");
    cluster.put(1, "b");
    cluster.flush();
    for (Rig* rig : {&first, &second}) {
      rig->options.partitions.clear();
      rig->options.bounded = true;
      rig->options.assignment = KafkaAssignment::eager;
      // One that comes late makes the other join again, which a heartbeat tells it.
      rig->options.properties = {{"session.timeout.ms", "6000"}, {"heartbeat.interval.ms", "200"}};
      rig->open();
    }
    EXPECT_TRUE(Rig::until([&] {
      for (Rig* rig : {&first, &second}) serve(*rig);
      return first.lanes.size() == 1 && second.lanes.size() == 1;
    }));
  }
  static Result<SourceEvent> serve(Rig& rig) {
    auto event = rig.source->poll_events(std::chrono::milliseconds(5));
    if (!event) return event;
    if (const auto* gone = std::get_if<LanesRevoked>(&*event)) {
      rig.lanes.clear();
      rig.source->revoked(gone->lanes);
    } else if (auto* assigned = std::get_if<LanesAssigned>(&*event)) {
      rig.lanes = std::move(assigned->lanes);
      std::vector<PartitionId> partitions;
      for (const auto& lane : rig.lanes) partitions.push_back(lane->partition());
      rig.checkpointer.begin_epoch(partitions);
    }
    return event;
  }
  /// Reads all of a member's lanes to their end.
  static void read(Rig& rig) {
    for (auto& lane : rig.lanes) {
      ASSERT_TRUE(Rig::until([&] {
        const auto polled = lane->poll(10, std::chrono::milliseconds(5));
        return polled && std::holds_alternative<Exhausted>(*polled);
      }));
    }
  }
  MockCluster cluster;
  Rig first;
  Rig second;
};

// A lane that its thread still has, after the group took the partition away and gave it again, here by another member
// that came.
TEST(KafkaGroup, INV1_ALaneThatWasLeftBehindTakesNothingOfItsSuccessor) {
  MockCluster cluster(2);
  cluster.put(0, "a");
  cluster.put(1, "b");
  cluster.flush();
  Rig first(cluster);
  Rig second(cluster);
  for (Rig* rig : {&first, &second}) {
    rig->options.partitions.clear();
    rig->options.assignment = KafkaAssignment::eager;
    rig->options.properties = {{"session.timeout.ms", "6000"}, {"heartbeat.interval.ms", "200"}};
  }
  first.open();
  ASSERT_TRUE(first.assign());
  ASSERT_EQ(first.lanes.size(), 2U);
  std::vector<std::unique_ptr<SourceLane>> left = std::move(first.lanes);
  first.lanes.clear();
  const auto nobody = std::make_shared<EventCount>();
  for (const auto& lane : left) lane->set_waker(Waker(nobody));
  second.open();
  ASSERT_TRUE(Rig::until([&] {
    for (Rig* rig : {&first, &second}) TwoMembers::serve(*rig);
    return first.lanes.size() == 1 && second.lanes.size() == 1;
  }));
  const auto successor = first.lanes[0].get();
  const auto woken = std::make_shared<EventCount>();
  successor->set_waker(Waker(woken));
  const int partition = static_cast<int>(successor->partition().value());
  const auto comes = [&](const std::string& text) {
    const auto before = woken->ticket();
    cluster.put(partition, text);
    cluster.flush();
    return woken->wait_until(before, Clock::real(), Clock::real().now() + Rig::kDeadline);
  };
  auto batch = first.next();
  ASSERT_TRUE(batch) << batch.error().message();
  EXPECT_EQ(batch->payloads[0], partition == 0 ? "a" : "b");
  ASSERT_TRUE(comes("c"));
  for (const auto& lane : left) {
    const auto polled = lane->poll(10, Duration::zero());
    ASSERT_TRUE(polled);
    EXPECT_TRUE(std::holds_alternative<Idle>(*polled)) << "partition " << lane->partition().value();
  }
  batch = first.next();
  ASSERT_TRUE(batch) << batch.error().message();
  EXPECT_EQ(batch->payloads[0], "c");
  left.clear();
  EXPECT_TRUE(comes("d")) << "it ended late, and nobody is woken any more";
  batch = first.next();
  ASSERT_TRUE(batch) << batch.error().message();
  EXPECT_EQ(batch->payloads[0], "d");
}

TEST(KafkaGroup, INV2_ABoundedMemberSaysThatItWaitsForOthersAndWhatGoesWrongMeanwhile) {
  TwoMembers two;
  TwoMembers::read(two.first);
  two.cluster.answer(kOffsetFetch, {RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED});
  ASSERT_TRUE(Rig::until([&] {
    const auto event = TwoMembers::serve(two.first);
    EXPECT_TRUE(event && !std::holds_alternative<Finished>(*event));
    return two.first.log->count("could not be asked") == 1 && two.first.log->count("when the other members") == 1;
  }));
  const PartitionId other = two.second.lanes[0]->partition();
  const PartitionWatermark all{other, Watermark(1)};
  ASSERT_TRUE(two.second.source->commit(std::span(&all, 1)));
  ASSERT_TRUE(two.second.source->flush_commits_by(Clock::real().now() + Rig::kDeadline));
  EXPECT_TRUE(Rig::until([&] {
    const auto event = TwoMembers::serve(two.first);
    return event && std::holds_alternative<Finished>(*event);
  }));
}

TEST(KafkaGroup, ABoundedMemberThatMayNotAskForTheOthersFails) {
  TwoMembers two;
  TwoMembers::read(two.first);
  two.cluster.answer(kOffsetFetch, {RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED});
  std::optional<Error> error;
  ASSERT_TRUE(Rig::until([&] {
    if (auto event = TwoMembers::serve(two.first); !event) error = std::move(event).error();
    return error.has_value();
  }));
  EXPECT_EQ(error->code(), ErrorCode::permission_denied);
}

}  // namespace
}  // namespace millrace::kafka
