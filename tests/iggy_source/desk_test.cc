// SPDX-License-Identifier: Apache-2.0
// Goal: what the desk stores and says of partitions, in which order. Method: a Desk against a fake server, whose log of
// requests is read; without a pipeline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connectors/iggy/desk.h"
#include "tests/iggy_source/source_fixture.h"

namespace millrace::iggy_source {
namespace {

const nlohmann::json kTopic{{"stream", "s"}, {"topic", "t"}};

class IggyDesk : public ::testing::Test {
 protected:
  IggyDesk() : options_(options_for(server_)) { context_.log = Logger(log_, "test"); }

  void make(std::function<void()> wake = [] {}) {
    const auto metrics = Metrics::make(Meter(std::make_shared<MetricRegistry>(), {}));
    ASSERT_TRUE(metrics);
    auto client = iggy::Client::make(client_options(options_, context_));
    ASSERT_TRUE(client);
    desk_ = std::make_unique<Desk>(options_, *std::move(client), context_, *metrics, positions_, std::move(wake));
  }
  /// As after a lane has read and written all of it.
  void settled(std::uint32_t partition, std::uint64_t last) {
    nlohmann::json where = kTopic;
    where["partition"] = partition;
    const auto told = server_.control({{"messages", where}})[last];
    const KnownMessage known{
        last, {std::stoull(told["id"].get<std::string>()), 0}, told["timestamp"].get<std::uint64_t>()};
    const PartitionId id = id_of({0, partition});
    positions_.own(id, Watermark(0), std::nullopt, std::nullopt, 0);
    positions_.settle({id, watermark_behind(last)}, known);
  }
  nlohmann::json log() { return server_.control({{"log", {{"where", nlohmann::json::object()}}}}); }

  iggy_rig::FakeServer server_{"vsr"};
  IggySourceOptions options_;
  SourceContext context_;
  const std::shared_ptr<Lines> log_ = std::make_shared<Lines>();
  Positions positions_;
  std::unique_ptr<Desk> desk_;  // last: its thread uses what stands above
};

// What was compared in one session says nothing of the next: the server may have been away between them.
TEST_F(IggyDesk, INV1_APositionIsComparedInTheSessionThatStoresIt) {
  options_.consumer_group.clear();
  options_.consumer = "7";
  server_.create(2);
  server_.append(0, 0, 5);
  server_.append(1, 5, 5);
  settled(0, 4);
  settled(1, 4);
  server_.control({{"fault", {{"on", "poll"}, {"do", "drop"}, {"where", {{"partition", 1}}}}}});
  make();
  desk_->start();
  ASSERT_TRUE(testing::eventually([&] { return stored(server_, "consumer:7") == std::vector<int>{4, 4}; }));
  const nlohmann::json all = log();
  std::set<int> compared;  // connections
  for (const auto& one : all) {
    if (one.value("partition", -1) != 0) continue;
    if (one["command"] == "poll") compared.insert(one["connection"].get<int>());
    if (one["command"] != "store_offset") continue;
    EXPECT_TRUE(compared.contains(one["connection"].get<int>())) << all.dump(1);
  }
  EXPECT_EQ(compared.size(), 2U) << "the connection was lost between the two partitions\n" << all.dump(1);
}

// A partition that comes here with the word that all are read is not read.
TEST_F(IggyDesk, INV2_NothingIsSaidToBeReadBesideAnAssignmentThatIsOver) {
  options_.bounded = true;
  server_.create(2, "mill");
  server_.append(0, 0, 5);
  server_.append(1, 5, 5);
  nlohmann::json ghost = kTopic;
  ghost.update({{"group", "mill"}, {"client", "abc"}});
  server_.control({{"ghost", ghost}});
  Mutex mutex;
  std::vector<std::vector<Partition>> read;  // beside what
  make([&] {
    const Assignment now = desk_->assignment();
    if (now.number == 0 || !desk_->others_are_read(now.number)) return;
    const MutexLock lock(mutex);
    read.push_back(now.partitions);
  });
  desk_->start();
  ASSERT_TRUE(testing::eventually([&] { return desk_->assignment().partitions.size() == 1; })) << log_->all();
  const std::uint64_t first = desk_->assignment().number;
  EXPECT_FALSE(desk_->others_are_read(first));
  server_.control({{"leave", ghost}});
  ASSERT_TRUE(testing::eventually([&] { return desk_->assignment().partitions.size() == 2; })) << log_->all();
  ASSERT_TRUE(testing::eventually([&] { return desk_->others_are_read(desk_->assignment().number); }));
  EXPECT_FALSE(desk_->others_are_read(first)) << "whose partitions are not all that are ours";
  desk_->close(Clock::real().now() + std::chrono::seconds(10));
  const MutexLock lock(mutex);
  EXPECT_FALSE(read.empty());
  for (const auto& partitions : read) EXPECT_EQ(partitions.size(), 2U);
}

}  // namespace
}  // namespace millrace::iggy_source
