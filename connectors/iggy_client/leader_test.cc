// SPDX-License-Identifier: Apache-2.0
// Goal: the way to the leader ends at a node that can be worked with, whatever nodes say of each other. Method: fake
// servers told what to say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/iggy_rig/client_pair.h"

namespace millrace::iggy {
namespace {

using Json = nlohmann::json;

Json node(const char* name, const std::string& port, bool leads) {
  return {{"name", name}, {"host", "127.0.0.1"}, {"port", std::stoi(port)}, {"role", leads ? 0 : 1}};
}

TEST(Leader, IsFollowed) {
  iggy_rig::FakeServer follower("vsr");
  iggy_rig::FakeServer leader("vsr");
  const Json nodes = Json::array({node("a", follower.port(), false), node("b", leader.port(), true)});
  follower.control({{"cluster", nodes}});
  leader.control({{"cluster", nodes}});
  const auto client = Pair::another(options_for(follower.address()));
  EXPECT_EQ(client->address(), leader.address());
  EXPECT_TRUE(client->ping());
  EXPECT_EQ(client->cluster()->size(), 2U);
}

// Each says that the other leads.
TEST(Leader, IsNotSoughtForEver) {
  iggy_rig::FakeServer one("vsr");
  iggy_rig::FakeServer two("vsr");
  one.control({{"cluster", Json::array({node("a", one.port(), false), node("b", two.port(), true)})}});
  two.control({{"cluster", Json::array({node("a", one.port(), true), node("b", two.port(), false)})}});
  const auto client = Pair::another(options_for(one.address()));
  EXPECT_TRUE(client->ping());
  const auto logins = [](iggy_rig::FakeServer& server) {
    return server.control({{"count", {{"where", {{"command", "login"}}}}}}).get<int>();
  };
  EXPECT_EQ(logins(one) + logins(two), 4) << "three hops";
}

// There is time left for the memberships when nobody leads.
TEST(Leader, ThatThereIsNoneLeavesTheClientWhereItIs) {
  Pair pair("vsr", [](ClientOptions& options) { options.connect_timeout = std::chrono::seconds(2); });
  ASSERT_EQ(*pair.client->join(kTopic, kGroup), JoinOutcome::joined);
  pair.client->disconnect();
  // A leader without a port is none that could be reached.
  Json no_port = node("b", "1", true);
  no_port["port"] = 0;
  pair.server.control({{"cluster", Json::array({node("a", pair.server.port(), false), no_port})}});
  const auto before = pair.log({{"command", "cluster"}}).size();
  const auto assigned = pair.client->sync(kTopic, kGroup);
  ASSERT_TRUE(assigned) << assigned.error().message();
  EXPECT_EQ((*assigned)->partitions, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_GT(pair.log({{"command", "cluster"}}).size(), before + 1) << "asked more than once";
  EXPECT_EQ(pair.client->sessions(), 2U);
}

TEST(Leader, IsNotSoughtWhereANodeDoesNotSay) {
  Pair pair("vsr");
  for (const int code : {3, 5, 41, 9999}) {
    pair.client->disconnect();
    pair.fault({{"on", "cluster"}, {"do", "status"}, {"code", code}});
    const auto done = pair.client->connect(soon());
    EXPECT_TRUE(done) << done.error().message();
  }
  EXPECT_EQ(*pair.poll(), 4U);
  EXPECT_EQ(pair.client->sessions(), 5U);
}

// The question has the time of a connection, not that of a request.
TEST(Leader, ThatIsNotToldInTimeEndsTheTry) {
  Pair pair("vsr");
  ClientOptions options = pair.options;
  options.connect_timeout = std::chrono::milliseconds(500);
  options.request_timeout = std::chrono::hours(1);
  const auto client = *Client::make(options);
  pair.fault({{"on", "cluster"}, {"do", "silence"}});
  const auto done = client->connect(soon());
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(pair.log({{"command", "login"}}).size(), 3U);
}

}  // namespace
}  // namespace millrace::iggy
