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
  for (const ErrorCode code :
       {ErrorCode::throttled, ErrorCode::unavailable, ErrorCode::unreachable, ErrorCode::credentials}) {
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

TEST(Tries, TriesThatWereAskedForAreTheEnd) {
  RetryPolicy policy = kPolicy;
  policy.tries = 2;
  policy.tries_are_final = true;
  Tries tries(policy, Random::system());
  const Error away = Error::retryable(ErrorCode::throttled, "come back later");
  EXPECT_TRUE(tries.next(away, kStart));
  EXPECT_FALSE(tries.next(away, kStart));
}

TEST(Tries, BeforeTheFirstAnswerThereIsNoPatience) {
  for (const ErrorCode code : {ErrorCode::unreachable, ErrorCode::credentials}) {
    Tries tries(kPolicy.before_the_first_answer(), Random::system());
    const Error away = Error::retryable(code, "wrong, rather than away");
    for (int i = 1; i < 8; ++i) EXPECT_TRUE(tries.next(away, kStart)) << i;
    EXPECT_FALSE(tries.next(away, kStart));
  }
}

TEST(Tries, RetryAfterIsObeyedAsLongAsThePatienceLastsAndSaysSo) {
  Tries tries(kPolicy, Random::system());
  const Error hour = Error::retryable(ErrorCode::throttled, "503").with_retry_after(std::chrono::hours(1));
  EXPECT_EQ(*tries.next(hour, kStart), std::chrono::seconds(180));
  EXPECT_TRUE(tries.asked_for_more());
  EXPECT_EQ(tries.wait_text(),
            "180 s: the store asks for 3600 s, which is more than is left of store.retry_timeout (180 s)");
  EXPECT_EQ(*tries.next(hour, kStart + std::chrono::seconds(170)), std::chrono::seconds(10));
  // The patience is at an end, the tries are not: they go on at their own pace.
  for (int i = 3; i < 8; ++i) EXPECT_LE(*tries.next(hour, kStart + std::chrono::seconds(180)), std::chrono::seconds(5));
  EXPECT_FALSE(tries.next(hour, kStart + std::chrono::seconds(180)));

  Tries obeyed(kPolicy, Random::system());
  EXPECT_EQ(
      *obeyed.next(Error::retryable(ErrorCode::throttled, "503").with_retry_after(std::chrono::seconds(42)), kStart),
      std::chrono::seconds(42));
  EXPECT_FALSE(obeyed.asked_for_more());
  EXPECT_EQ(obeyed.wait_text(), "42 s");
}

}  // namespace
}  // namespace millrace::s3_source
