// SPDX-License-Identifier: Apache-2.0
// Goal: `millrace status` says where a group is in each partition, and leaves the server as it is. Method: offsets that
// the fake server is told to keep; what it was asked meanwhile.
#include "connectors/iggy/status.h"

#include <gmock/gmock.h>

#include "tests/iggy_source/source_fixture.h"

namespace millrace::iggy_source {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class IggyStatus : public ::testing::TestWithParam<const char*> {
 protected:
  IggyStatus() : server(GetParam()) {}
  [[nodiscard]] IggySourceOptions options() const {
    IggySourceOptions all = options_for(server);
    all.connect_timeout = std::chrono::seconds(30);
    return all;
  }
  void store(std::uint32_t partition, std::uint64_t offset, const char* kind = "group",
             const nlohmann::json& name = "mill") {
    server.control(
        {{"store", {{"stream", "s"}, {"topic", "t"}, {"partition", partition}, {kind, name}, {"offset", offset}}}});
  }
  static std::string told(const IggySourceOptions& options, bool json = false) {
    auto text = status(options, {}, json);
    return text ? *text : "failed: " + text.error().message();
  }
  iggy_rig::FakeServer server;
};

TEST_P(IggyStatus, TellsPositionsEndsAndWhatIsBetween) {
  server.create(4, "mill");
  server.append(3, 0, 1);
  server.append(0, 0, 5);
  server.append(1, 0, 3);
  store(0, 1);
  store(1, 2);
  // A server keeps the last message that was processed; a position is one past it.
  EXPECT_EQ(told(options()),
            "group 'mill': 3 records behind, and nothing is stored in 1 of 4 partitions\n"
            "  's/t' partition 0: 2 is stored, the end is 5: 3 behind\n"
            "  's/t' partition 1: 3 is stored, the end is 3: 0 behind\n"
            "  's/t' partition 2: nothing is stored, the end is 0\n"
            "  's/t' partition 3: nothing is stored, the end is 1\n");
  const auto json = nlohmann::json::parse(told(options(), true), nullptr, false);
  EXPECT_EQ(json["group"], "mill");
  EXPECT_EQ(json["behind"], nullptr);
  EXPECT_EQ(json["partitions"][0],
            nlohmann::json({{"topic", "t"}, {"partition", 0}, {"stored", 2}, {"end", 5}, {"behind", 3}}));
}

TEST_P(IggyStatus, LeavesTheServerAsItIs) {
  server.create(2, "mill");
  server.append(0, 0, 5);
  IggySourceOptions another = options();
  another.consumer_group = "never made";
  another.member = "mill-1";
  EXPECT_THAT(told(another), HasSubstr("group 'never made': 0 records behind, and nothing is stored in 1 of 2"));
  EXPECT_EQ(told(options()), told(options()));
  for (const char* command : {"join", "create_group", "store_offset", "delete_offset", "poll"}) {
    EXPECT_EQ(server.control({{"count", {{"where", {{"command", command}}}}}}), 0) << command;
  }
}

TEST_P(IggyStatus, OfAConsumerOnlyThePartitionsThatItReads) {
  server.create(2);
  server.append(1, 0, 4);
  store(1, 3, "consumer", 7);
  IggySourceOptions alone = options();
  alone.consumer_group.clear();
  alone.consumer = "7";
  alone.partitions = {"1"};
  EXPECT_EQ(told(alone),
            "consumer '7': 0 records behind\n"
            "  's/t' partition 1: 4 is stored, the end is 4: 0 behind\n");
}

TEST_P(IggyStatus, WaitsOutAConnectionThatBreaks) {
  server.create(1, "mill");
  server.append(0, 0, 2);
  store(0, 0);
  server.control({{"fault", {{"on", "get_offset"}, {"do", "drop"}}}});
  EXPECT_THAT(told(options()), HasSubstr("1 is stored, the end is 2: 1 behind"));
}

TEST_P(IggyStatus, WhatIsMissingIsNamed) {
  IggySourceOptions hasty = options();
  hasty.connect_timeout = std::chrono::milliseconds(300);
  EXPECT_THAT(told(hasty), AllOf(HasSubstr("failed: "), HasSubstr("stream 's'")));
  hasty.password = Secret("hunter2");
  EXPECT_THAT(told(hasty), AllOf(HasSubstr("password is wrong"), Not(HasSubstr("hunter2"))));
}

INSTANTIATE_TEST_SUITE_P(Framings, IggyStatus, ::testing::Values("classic", "vsr"),
                         [](const auto& framing) { return std::string(framing.param); });

}  // namespace
}  // namespace millrace::iggy_source
