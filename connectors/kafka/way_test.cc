// SPDX-License-Identifier: Apache-2.0
// What explain tells of a Kafka source, and what it does not.
#include "connectors/kafka/way.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::kafka {
namespace {

constexpr std::uint64_t kMi = std::uint64_t{1} << 20U;

KafkaSourceOptions options() {
  KafkaSourceOptions made;
  made.brokers = {"kafka-1:9092", "kafka-2:9092"};
  made.topics = {"orders", "refunds"};
  made.group = "to-s3";
  made.prefetch_bytes = {4 * kMi};
  made.properties = {{"sasl.password", "hunter2"}};
  return made;
}

TEST(KafkaWay, AGroupGivesAsManyLanesAsItLikes) {
  const SourceWay way = way_of(options());
  EXPECT_FALSE(way.lanes);
  ASSERT_EQ(way.rows.size(), 3U) << "no codec and no framing: the client hands out records";
  EXPECT_EQ(way.rows[0].stage, DataStage::get);
  EXPECT_EQ(way.rows[0].here, "kafka source kafka-1:9092, kafka-2:9092, topics orders, refunds");
  EXPECT_EQ(way.rows[1].stage, DataStage::source);
  EXPECT_EQ(way.rows[1].here, "as many lanes as partitions that the group 'to-s3' gives");
  EXPECT_EQ(way.rows[1].threads, 0U);
  EXPECT_EQ(way.rows[2].stage, DataStage::commit);
  EXPECT_EQ(way.rows[2].here, "positions of the group 'to-s3', kept by the brokers");
  ASSERT_EQ(way.memory.size(), 1U);
  EXPECT_EQ(way.memory[0],
            (MemoryPart{"fetched", 4 * kMi, "lanes x prefetch_bytes (4.0 MiB); the fetch that fills it may go beyond",
                        DataStage::get, MemoryPart::Each::lane}));
  EXPECT_EQ(way.record_option, "") << "brokers have the say in that";
  for (const StageRow& row : way.rows) EXPECT_EQ(row.here.find("hunter2"), std::string::npos);
}

TEST(KafkaWay, PartitionsThatAreNamedAreCounted) {
  KafkaSourceOptions named = options();
  named.partitions = {"0", "1", "5"};
  const SourceWay way = way_of(named);
  EXPECT_EQ(way.lanes, 6U) << "three of each of two topics";
  EXPECT_EQ(way.rows[1].here, "a lane for each of partitions 0, 1, 5 of each topic (partitions)");
  EXPECT_EQ(way.memory[0].bytes, 24 * kMi);
  EXPECT_EQ(way.memory[0].each, MemoryPart::Each::run);
}

}  // namespace
}  // namespace millrace::kafka
