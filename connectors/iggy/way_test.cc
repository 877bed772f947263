// SPDX-License-Identifier: Apache-2.0
// What explain tells of an Iggy source, and what it does not.
#include "connectors/iggy/way.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::iggy_source {
namespace {

constexpr std::uint64_t kMi = std::uint64_t{1} << 20U;

IggySourceOptions options() {
  IggySourceOptions made;
  made.address = "iggy:8090";
  made.username = "mill";
  made.password = Secret("hunter2");
  made.stream = "logs";
  made.topics = {"api"};
  made.consumer_group = "to-s3";
  made.connections = 3;
  made.prefetch_bytes = {4 * kMi};
  made.max_reply_bytes = {16 * kMi};
  return made;
}

TEST(IggyWay, AGroupGivesAsManyLanesAsItLikes) {
  const SourceWay way = way_of(options());
  EXPECT_FALSE(way.lanes);
  ASSERT_EQ(way.rows.size(), 3U) << "no codec and no framing: the client hands out messages";
  EXPECT_EQ(way.rows[0].here, "iggy source iggy:8090, stream logs, topic api; 1000 messages a request (batch_length)");
  EXPECT_EQ(way.rows[0].threads, 3U) << "one a connection";
  EXPECT_EQ(way.rows[1].here, "as many lanes as partitions that the group 'to-s3' gives");
  EXPECT_EQ(way.rows[2].stage, DataStage::commit);
  EXPECT_EQ(way.rows[2].here, "offsets of the group 'to-s3', kept by the server");
  ASSERT_EQ(way.memory.size(), 2U);
  EXPECT_EQ(way.memory[1],
            (MemoryPart{"replies", 48 * kMi, "3 connections (connections) x the reply that comes (max_reply_bytes)",
                        DataStage::get}));
  EXPECT_EQ(way.memory[0],
            (MemoryPart{"fetched", 40 * kMi,
                        "lanes x twice prefetch_bytes (4.0 MiB), and two replies (max_reply_bytes, 16.0 MiB)",
                        DataStage::get, MemoryPart::Each::lane}));
  EXPECT_EQ(way.longest_record, 16 * kMi);
  for (const StageRow& row : way.rows) {
    EXPECT_EQ(row.here.find("hunter2"), std::string::npos);
    EXPECT_EQ(row.here.find("mill"), std::string::npos);
  }
}

TEST(IggyWay, AConsumerReadsWhatIsListedOrAll) {
  IggySourceOptions alone = options();
  alone.consumer_group.clear();
  alone.consumer = "7";
  SourceWay way = way_of(alone);
  EXPECT_FALSE(way.lanes);
  EXPECT_EQ(way.rows[1].here, "as many lanes as partitions of the topics");
  EXPECT_EQ(way.rows[2].here, "offsets of the consumer '7', kept by the server");
  alone.topics = {"api", "errors"};
  alone.partitions = {"0", "2"};
  way = way_of(alone);
  EXPECT_EQ(way.lanes, 4U);
  EXPECT_EQ(way.rows[1].here, "a lane for each of partitions 0, 2 of each topic (partitions)");
  EXPECT_EQ(way.memory[0].bytes, 160 * kMi);
}

}  // namespace
}  // namespace millrace::iggy_source
