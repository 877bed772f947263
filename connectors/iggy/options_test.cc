// SPDX-License-Identifier: Apache-2.0
// What the keys may say, positions in both ways of counting, and what waits for a store.
#include "connectors/iggy/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connectors/iggy/partition.h"
#include "connectors/iggy/positions.h"
#include "millrace/testing/manual_clock.h"

namespace millrace::iggy_source {
namespace {

using ::testing::HasSubstr;

std::string problem(const std::string& yaml) {
  const auto config = Config::parse("iggy: {" + yaml + "}\n", "p.yaml");
  EXPECT_TRUE(config);
  const auto valid = IggySource::kind().validate(config->section("iggy"));
  return valid ? std::string() : valid.error().message();
}

constexpr const char* kGood = "address: 127.0.0.1:8090, username: iggy, password: iggy, stream: s, topics: [a, b]";

TEST(IggyOptions, WhatIsGood) {
  EXPECT_EQ(problem(std::string(kGood) + ", consumer_group: g"), "");
  EXPECT_EQ(problem(std::string(kGood) + ", consumer_group: g, member: m, protocol: vsr, start: latest"), "");
  EXPECT_EQ(problem(std::string(kGood) + ", consumer: \"7\", partitions: [0, 1], start: {offset: 5}"), "");
}

TEST(IggyOptions, WhatIsNot) {
  const std::string good = kGood;
  EXPECT_THAT(problem(good), HasSubstr("iggy.consumer_group: give consumer_group"));
  EXPECT_THAT(problem(good + ", consumer_group: g, consumer: c"), HasSubstr("iggy.consumer_group"));
  EXPECT_THAT(problem(good + ", consumer_group: g, partitions: [0]"), HasSubstr("iggy.partitions: is for consumer"));
  EXPECT_THAT(problem(good + ", consumer: c, partitions: [x]"), HasSubstr("lists numbers"));
  EXPECT_THAT(problem(good + ", consumer: c, member: m"), HasSubstr("iggy.member"));
  EXPECT_THAT(problem(good + ", consumer: c, protocol_version: 0.12.2"), HasSubstr("0.12.2"));
  EXPECT_THAT(problem(good + ", consumer: c, protocol_version: eleven"), HasSubstr("no protocol version"));
  EXPECT_THAT(problem(good + ", consumer: c, token: x"), HasSubstr("one of the three"));
  EXPECT_THAT(problem("address: here, token: x, stream: s, topics: [a, a], consumer: c"), HasSubstr("twice"));
  EXPECT_THAT(problem("address: here, token: x, stream: s, topics: [a], consumer: c"), HasSubstr("no address"));
  EXPECT_THAT(problem("address: a:1, token: topsecret, username: u, stream: s, topics: [a], consumer: c"),
              ::testing::Not(HasSubstr("topsecret")));
}

TEST(IggyOptions, AMemberIsWhoItsNameSays) {
  IggySourceOptions options;
  options.consumer_group = "g";
  EXPECT_FALSE(member_id(options));
  options.member = "a";
  const auto a = member_id(options);
  EXPECT_EQ(a, member_id(options));
  options.member = "b";
  EXPECT_NE(a, member_id(options));
}

TEST(IggyPositions, TheServerKeepsTheLastMessageProcessed) {
  EXPECT_EQ(stored_offset(Watermark(0)), std::nullopt) << "nothing is processed: there is no offset for that";
  EXPECT_EQ(stored_offset(Watermark(1)), 0U);
  EXPECT_EQ(watermark_behind(0), Watermark(1));
  for (const std::uint64_t offset : {0ULL, 1ULL, 41ULL, 9'000'000'000ULL}) {
    EXPECT_EQ(stored_offset(watermark_behind(offset)), offset);
  }
}

TEST(IggyPositions, PartitionsOfSeveralTopicsDoNotMeet) {
  EXPECT_EQ(id_of({0, 3}), PartitionId(3));
  EXPECT_EQ(id_of({2, 3}), PartitionId(200'003));
  EXPECT_EQ(partition_of(PartitionId(200'003)), (Partition{2, 3}));
}

TEST(IggyPositions, WhatWaitsForAStore) {
  testing::ManualClock clock;
  Positions positions;
  const PartitionId one(1);
  const auto none = clock.now();
  positions.settle({{{one, Watermark(5)}}});
  EXPECT_TRUE(positions.to_store().empty()) << "not ours";
  positions.own(one, Watermark(2), Watermark(2));
  EXPECT_TRUE(positions.wait_until_stored(clock, none));
  positions.settle({{{one, Watermark(5)}}});
  EXPECT_EQ(positions.to_store(), (std::vector<PartitionWatermark>{{one, Watermark(5)}}));
  EXPECT_EQ(positions.wait_until_stored(clock, none).error().code(), ErrorCode::deadline);
  positions.store_failed(Error::retryable(ErrorCode::closed, "gone"));
  EXPECT_EQ(positions.wait_until_stored(clock, none).error().code(), ErrorCode::closed);
  positions.stored({one, Watermark(5)});
  EXPECT_TRUE(positions.wait_until_stored(clock, none));
  positions.settle({{{one, Watermark(6)}}});
  positions.drop(one);
  EXPECT_TRUE(positions.wait_until_stored(clock, none)) << "another member's by now";
  EXPECT_EQ(positions.settled(one), Watermark(6)) << "but durable all the same";
}

}  // namespace
}  // namespace millrace::iggy_source
