// SPDX-License-Identifier: Apache-2.0
// Goal: what changes something is done once and never taken for done when it was not, whatever a server of the vsr
// framing says of its number. Method: a fake server told what to say; what it keeps is asked through its control.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/iggy_rig/client_pair.h"

namespace millrace::iggy {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

// The wall clock of a machine that is wrong by `ahead`.
class WrongClock final : public Clock {
 public:
  explicit WrongClock(std::chrono::microseconds ahead) : ahead_(ahead) {}
  [[nodiscard]] SteadyTime now() const override { return Clock::real().now(); }
  [[nodiscard]] UnixMicros unix_micros() const override { return Clock::real().unix_micros() + ahead_.count(); }
  void wait_until(CondVar& condition, Mutex& mutex, SteadyTime deadline) override MILLRACE_REQUIRES(mutex) {
    Clock::real().wait_until(condition, mutex, deadline);
  }

 private:
  const std::chrono::microseconds ahead_;
};

void status(Pair& pair, const char* command, int code, int nth = 1, bool apply = false, int times = 1) {
  pair.fault({{"on", command}, {"do", "status"}, {"code", code}, {"nth", nth}, {"apply", apply}, {"times", times}});
}

// The server has it, could not say so in time, and answers its repetition with a success that says nothing.
TEST(RequestNumbers, ASendWithAnOpenOutcomeIsMadeOnce) {
  Pair pair("vsr");
  status(pair, "send", 57, 1, true);
  const auto sent = pair.send(*pair.client);
  ASSERT_TRUE(sent) << sent.error().message();
  EXPECT_EQ(pair.sent(), 1U);
  const Json sends = pair.log({{"command", "send"}});
  ASSERT_EQ(sends.size(), 2U);
  EXPECT_EQ(sends[0]["request"], sends[1]["request"]);
}

TEST(RequestNumbers, AStoreWithAnOpenOutcomeIsRepeated) {
  Pair pair("vsr");
  status(pair, "store_offset", 57);
  EXPECT_EQ(*pair.client->store_offset(kOne, kTopic, 0, 1), StoreOutcome::stored);
  EXPECT_EQ((*pair.client->get_offset(kOne, kTopic, 0))->stored, 1U);
  EXPECT_EQ(pair.client->sessions(), 1U);
}

TEST(RequestNumbers, AppliedAlreadyIsSuccessBehindAnOpenOutcome) {
  Pair pair("vsr");
  status(pair, "join", 57, 1, true);
  status(pair, "join", 59, 2);
  EXPECT_EQ(*pair.client->join(kTopic, kGroup), JoinOutcome::joined);
  EXPECT_EQ(pair.log({{"command", "join"}}).size(), 2U);
  EXPECT_EQ(pair.client->sessions(), 1U);
}

// A number below the newest is answered so too, and then nothing was done.
TEST(RequestNumbers, AppliedAlreadyIsNoSuccessOfTheFirstTry) {
  Pair pair("vsr");
  status(pair, "join", 59);
  const auto lost = pair.client->join(kTopic, kGroup);
  ASSERT_FALSE(lost);
  EXPECT_TRUE(lost.error().is_retryable());
  EXPECT_THAT(lost.error().message(), HasSubstr("joining group 'mill'"));
  EXPECT_EQ(*pair.client->join(kTopic, kGroup), JoinOutcome::joined);
  const Json joins = pair.log({{"command", "join"}});
  ASSERT_EQ(joins.size(), 2U);
  EXPECT_GT(joins[1]["request"].get<std::uint64_t>(), joins[0]["request"].get<std::uint64_t>() + 1'000'000'000'000);
}

// A refused try was certainly not applied.
TEST(RequestNumbers, AppliedAlreadyIsNoSuccessBehindARefusal) {
  Pair pair("vsr");
  status(pair, "join", 58);
  status(pair, "join", 59, 2);
  EXPECT_FALSE(pair.client->join(kTopic, kGroup));
  EXPECT_EQ(*pair.client->join(kTopic, kGroup), JoinOutcome::joined);
}

TEST(RequestNumbers, AppliedAlreadyInARejoinIsTriedAgain) {
  Pair pair("vsr");
  ASSERT_EQ(*pair.client->join(kTopic, kGroup), JoinOutcome::joined);
  pair.client->disconnect();
  status(pair, "join", 59);
  const auto done = pair.client->connect(soon());
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ((*pair.client->sync(kTopic, kGroup))->partitions, (std::vector<std::uint32_t>{0, 1}));
}

// Between two processes under one id the wall clock went back: the server drops what is numbered below its newest, and
// answers a send with a success that says nothing.
TEST(RequestNumbers, AClockThatWentBackLosesNothing) {
  ClientId id{};
  id[3] = 7;
  WrongClock ahead(std::chrono::hours(24 * 365));
  Pair pair("vsr", [&](ClientOptions& options) {
    options.client_id = id;
    options.clock = &ahead;
  });
  ASSERT_TRUE(pair.send(*pair.client));
  pair.client.reset();
  ClientOptions right = pair.options;
  right.clock = &Clock::real();
  const auto later = Pair::another(right);
  const auto dropped = pair.send(*later);
  ASSERT_FALSE(dropped);
  EXPECT_TRUE(dropped.error().is_retryable());
  EXPECT_EQ(pair.sent(), 1U);
  for (std::size_t i = 2; i < 5; ++i) {
    ASSERT_TRUE(pair.send(*later));
    EXPECT_EQ(pair.sent(), i);
  }
}

TEST(RequestNumbers, ARefusedChangeIsHeldUntilTheNodeTakesIt) {
  Pair pair("vsr");
  status(pair, "join", 58, 1, false, 3);
  EXPECT_EQ(*pair.client->join(kTopic, kGroup), JoinOutcome::joined);
  EXPECT_EQ(pair.log({{"command", "join"}}).size(), 4U);
  EXPECT_EQ(pair.client->sessions(), 1U);
}

TEST(RequestNumbers, ANodeThatTakesNoChangesIsLeftAndTheLeaderLookedFor) {
  Pair pair("vsr");
  const auto asked = pair.log({{"command", "cluster"}}).size();
  status(pair, "join", 58, 1, false, 0);
  const auto refused = pair.client->join(kTopic, kGroup);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_retryable());
  EXPECT_EQ(refused.error().code(), ErrorCode::unavailable);
  EXPECT_FALSE(pair.client->connected());
  pair.server.control({{"clear_faults", true}});
  EXPECT_EQ(*pair.client->join(kTopic, kGroup), JoinOutcome::joined);
  EXPECT_EQ(pair.log({{"command", "cluster"}}).size(), asked + 1);
}

TEST(RequestNumbers, ALoginWithAnOpenOutcomeIsRepeatedOnItsConnection) {
  Pair pair("vsr");
  pair.client->disconnect();
  status(pair, "login", 57, 1, false, 2);
  const auto before = pair.log({{"command", "login"}}).size();
  ASSERT_TRUE(pair.client->connect(soon()));
  const Json logins = pair.log({{"command", "login"}});
  ASSERT_EQ(logins.size(), before + 3);
  EXPECT_EQ(logins[before]["connection"], logins[before + 2]["connection"]);
}

}  // namespace
}  // namespace millrace::iggy
