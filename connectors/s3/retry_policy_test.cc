// SPDX-License-Identifier: Apache-2.0
// When a request is given up: the counts and times are those of the policy.
#include "connectors/s3/retry_policy.h"

#include <gtest/gtest.h>

namespace millrace::s3_source {
namespace {

const RetryPolicy kPolicy{.tries = 8, .patience = std::chrono::minutes(3)};
constexpr SteadyTime kStart{std::chrono::hours(1)};

TEST(Tries, TheEighthInARowIsTheLast) {
  Tries tries(kPolicy, Random::system());
  const Error reset = Error::retryable(ErrorCode::interrupted_transfer, "reset");
  for (int i = 1; i < 8; ++i) EXPECT_TRUE(tries.next(reset, kStart)) << i;
  EXPECT_FALSE(tries.next(reset, kStart));
  EXPECT_EQ(tries.failed(), 8);
}

TEST(Tries, ProgressBeginsTheCountAnew) {
  Tries tries(kPolicy, Random::system());
  const Error reset = Error::retryable(ErrorCode::interrupted_transfer, "reset");
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(tries.next(reset, kStart));
    tries.progress();
  }
}

TEST(Tries, H01_AStoreThatIsAwayIsGivenItsPatienceToo) {
  for (const ErrorCode code : {ErrorCode::throttled, ErrorCode::unavailable, ErrorCode::unreachable}) {
    Tries tries(kPolicy, Random::system());
    const Error away = Error::retryable(code, "come back later");
    for (int second = 0; second < 180; second += 2)
      EXPECT_TRUE(tries.next(away, kStart + std::chrono::seconds(second)));
    EXPECT_FALSE(tries.next(away, kStart + std::chrono::seconds(180)));
  }
}

TEST(Tries, WhatWillNotPassIsNotTriedAgain) {
  Tries tries(kPolicy, Random::system());
  EXPECT_FALSE(tries.next(Error::fatal(ErrorCode::permission_denied, "403"), kStart));
}

TEST(Tries, DelaysStayWithinTheCapAndHonourRetryAfter) {
  Tries tries(kPolicy, Random::system());
  for (int i = 0; i < 7; ++i) {
    const auto wait = tries.next(Error::retryable(ErrorCode::timeout, "slow"), kStart);
    ASSERT_TRUE(wait);
    EXPECT_GT(*wait, Duration::zero());
    EXPECT_LE(*wait, std::chrono::seconds(5));
  }
  Tries asked(kPolicy, Random::system());
  EXPECT_GE(
      *asked.next(Error::retryable(ErrorCode::throttled, "503").with_retry_after(std::chrono::seconds(42)), kStart),
      std::chrono::seconds(42));
}

}  // namespace
}  // namespace millrace::s3_source
