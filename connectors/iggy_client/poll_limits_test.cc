// SPDX-License-Identifier: Apache-2.0
// Goal: a partition of large messages costs a handful of sessions, not one every few polls, and grows again when its
// messages are small. Method: a server played by sums: a reply has so many messages of so many bytes.
#include "connectors/iggy_client/poll_limits.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace millrace::iggy {
namespace {

constexpr std::size_t kMaxReply = 64'000'000;
const TopicName kTopic{Identifier::name("s"), Identifier::name("t")};

// Polls with 1000 wanted, `bytes` a message; how many failed.
int failures(PollLimits& limits, std::size_t bytes, int polls, std::uint32_t partition = 0) {
  int failed = 0;
  for (int done = 0; done < polls;) {
    const std::uint32_t count = limits.count(kTopic, partition, 1000);
    if (count * bytes > kMaxReply) {
      limits.failed(kTopic, partition, count);
      ++failed;
    } else {
      limits.fitted(kTopic, partition, count, count * bytes);
      ++done;
    }
  }
  return failed;
}

TEST(PollLimits, SteadyLargeMessagesFailAtTheBeginningOnly) {
  for (const std::size_t bytes : {70'000U, 400'000U, 1'000'000U, 3'000'000U, 40'000'000U, 64'000'000U}) {
    PollLimits limits(kMaxReply);
    EXPECT_LE(failures(limits, bytes, 1), 5) << bytes;
    EXPECT_EQ(failures(limits, bytes, 10'000), 0) << bytes;
    EXPECT_GE(limits.count(kTopic, 0, 1000), kMaxReply / bytes / 8) << bytes << ": not smaller than it needs to be";
  }
}

TEST(PollLimits, SmallMessagesAreAskedForAsBeforeAfterAWhile) {
  PollLimits limits(kMaxReply);
  EXPECT_GT(failures(limits, 1'000'000, 20), 0);
  EXPECT_LT(limits.count(kTopic, 0, 1000), 1000U);
  EXPECT_EQ(failures(limits, 1'000, 200), 0);
  EXPECT_EQ(limits.count(kTopic, 0, 1000), 1000U);
}

// The worst: small ones until it has grown, then large ones, again and again.
TEST(PollLimits, WhatFailsAgainIsTriedMoreRarely) {
  PollLimits limits(kMaxReply);
  int failed = 0;
  for (int i = 0; i < 100; ++i) failed += failures(limits, 1'000, 50) + failures(limits, 1'000'000, 1);
  EXPECT_LE(failed, 30) << "of 5100 polls";
}

TEST(PollLimits, ArePerPartitionAndTopic) {
  PollLimits limits(kMaxReply);
  EXPECT_GT(failures(limits, 1'000'000, 5, 3), 0);
  EXPECT_EQ(limits.count(kTopic, 4, 1000), 1000U);
  EXPECT_EQ(limits.count({Identifier::name("s"), Identifier::name("u")}, 3, 1000), 1000U);
  EXPECT_LT(limits.count(kTopic, 3, 1000), 1000U);
}

TEST(PollLimits, OneAtLeastAndNeverMoreThanWanted) {
  PollLimits limits(kMaxReply);
  EXPECT_EQ(limits.count(kTopic, 0, 0), 1U);
  limits.failed(kTopic, 0, 3);
  EXPECT_EQ(limits.count(kTopic, 0, 1000), 1U);
  limits.fitted(kTopic, 0, 0, 16);
  limits.failed(kTopic, 1, UINT32_MAX);
  for (int i = 0; i < 200; ++i) limits.fitted(kTopic, 1, 1, 1);
  EXPECT_EQ(limits.count(kTopic, 1, 7), 7U);
  EXPECT_GE(limits.count(kTopic, 1, UINT32_MAX), UINT32_MAX / 4) << "doubling does not wrap";
}

}  // namespace
}  // namespace millrace::iggy
