// SPDX-License-Identifier: Apache-2.0
// Goal: what networks, gateways, clocks and busy servers do (rows G and H) ends in the right class of error, keeps the
// good bytes, and is tried again by nobody but the caller. Method: the fault server plays tests/s3_fault_server/cases.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tests/s3_store/fixture.h"

namespace millrace::s3 {
namespace {

using testing::error_of;
using testing::Fixture;
using testing::patterned;
using testing::play;
using testing::read;

TEST(S3StoreFaults, G01_AShortBodyNeverPassesForAWholeOne) {
  const std::string bytes = patterned(1'000'000);
  for (const char* name : {"G01_short_body", "G01_chunked_without_end", "G01_until_close"}) {
    Fixture f;
    f.server->put_object("bucket", "k", bytes);
    play(f, name);
    const auto answer = read(*f.store, "k", 0, bytes.size(), {}, bytes.size());
    EXPECT_EQ(error_of(answer).code(), ErrorCode::interrupted_transfer) << name;
    EXPECT_TRUE(error_of(answer).is_retryable()) << name;
    EXPECT_EQ(answer.outcome.received, 600'000U) << name;
    EXPECT_EQ(answer.bytes, bytes.substr(0, 600'000)) << name;
    EXPECT_EQ(f.server->count("GetObject"), 1U) << name;
    EXPECT_EQ(read(*f.store, "k", 600'000, 400'000).bytes, bytes.substr(600'000)) << name;
  }
}

TEST(S3StoreFaults, G04_AResetKeepsWhatHadArrived) {
  Fixture f;
  const std::string bytes = patterned(5U << 20U);
  f.server->put_object("bucket", "k", bytes);
  play(f, "G04_reset_five_times");
  std::string got;
  int tries = 0;
  while (got.size() < bytes.size()) {
    const auto answer = read(*f.store, "k", got.size(), bytes.size() - got.size(), {}, bytes.size());
    got += answer.bytes;
    ++tries;
    if (!answer.outcome.info) {
      EXPECT_TRUE(answer.outcome.info.error().is_retryable()) << answer.outcome.info.error().describe();
      EXPECT_GT(answer.outcome.received, 0U);
    }
    ASSERT_LT(tries, 20);
  }
  EXPECT_EQ(tries, 6);
  EXPECT_TRUE(got == bytes);
}

// The transport measures over five seconds, so one second takes some more.
TEST(S3StoreFaults, G06_AStallAndATrickleEndByThemselves) {
  Fixture f;
  S3Options options = testing::options_for(*f.server);
  options.no_progress_timeout = std::chrono::seconds(1);
  f.open(options);
  const std::string bytes = patterned(1'000'000);
  f.server->put_object("bucket", "stalls", bytes);
  f.server->put_object("bucket", "trickles", bytes);
  play(f, "G06_stall");
  testing::PendingRead stalled(*f.store, "stalls", 0, bytes.size());
  testing::PendingRead trickled(*f.store, "trickles", 0, bytes.size());
  const auto first = stalled.wait();
  EXPECT_EQ(error_of(first).code(), ErrorCode::timeout);
  EXPECT_TRUE(error_of(first).is_retryable());
  EXPECT_EQ(first.bytes, bytes.substr(0, 65'536));
  EXPECT_EQ(error_of(trickled.wait()).code(), ErrorCode::timeout);
}

TEST(S3StoreFaults, G06_AWholeRequestHasItsOwnLimitWhenAsked) {
  Fixture f;
  f.server->put_object("bucket", "k", std::string(1000, 'x'));
  f.server->add_fault("op=GetObject times=every drip_ms=20");
  const auto got = f.store->get("k", 1000, std::chrono::milliseconds(200));
  EXPECT_EQ(got.error().code(), ErrorCode::timeout);
}

TEST(S3StoreFaults, G08_AConnectionThatWentStaleIsNobodysFailure) {
  Fixture f;
  play(f, "G08_stale_keep_alive");
  for (int i = 0; i < 3; ++i) {
    const auto put = f.store->put({.key = "k", .body = fmt::format("{}", i)});
    EXPECT_TRUE(put) << put.error().describe();
    const auto got = f.store->get("k", 10);
    ASSERT_TRUE(got) << got.error().describe();
    EXPECT_EQ(got->bytes, fmt::format("{}", i));
  }
  EXPECT_TRUE(f.server->all_faults_happened());
  EXPECT_EQ(f.server->connections(), 4U);
}

TEST(S3StoreFaults, G08_AFreshConnectionThatBreaksIsAFailure) {
  Fixture f;
  f.server->add_fault("times=every no_answer");
  EXPECT_EQ(f.store->put({.key = "k", .body = "x"}).error().code(), ErrorCode::interrupted_transfer);
  EXPECT_EQ(f.server->count("PutObject"), 1U);
}

TEST(S3StoreFaults, G08_RequestTimeoutOnAReusedConnectionIsTriedOnAFreshOne) {
  Fixture f;
  play(f, "G08_request_timeout");
  EXPECT_TRUE(f.store->put({.key = "a", .body = "1"}));
  const auto second = f.store->put({.key = "b", .body = "2"});
  EXPECT_TRUE(second) << second.error().describe();
  EXPECT_EQ(f.server->count("PutObject"), 3U);
  EXPECT_EQ(f.server->connections(), 2U);
}

TEST(S3StoreFaults, G10_AGatewaysPageIsNoAnswerOfAStore) {
  Fixture f;
  f.server->put_object("bucket", "k", "0123456789");
  for (const char* name : {"G10_login_page", "G10_unavailable_page"}) {
    f.server->clear_faults();
    play(f, name);
    const auto is_no_success = [&](const Error& error) {
      EXPECT_TRUE(error.is_retryable()) << error.describe();
      EXPECT_TRUE(error.code() == ErrorCode::bad_response || error.code() == ErrorCode::unavailable)
          << error.describe();
    };
    is_no_success(f.store->list({}).error());
    is_no_success(error_of(read(*f.store, "k", 0, 10, ETag{"\"781e5e245d69b566979b86e28d23f2c7\""}, 10)));
    is_no_success(f.store->put({.key = "p", .body = "x"}).error());
  }
  f.server->clear_faults();
  play(f, "G10_empty_listing");
  EXPECT_EQ(f.store->list({}).error().code(), ErrorCode::bad_response);
}

TEST(S3StoreFaults, ASuccessThatHoldsAnErrorIsThatError) {
  Fixture f;
  play(f, "S_success_that_is_an_error");
  const auto put = f.store->put({.key = "k", .body = "x"});
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code(), ErrorCode::unavailable);
  EXPECT_TRUE(put.error().is_retryable());
}

TEST(S3StoreFaults, H01_RetryAfterReachesWhoRetries) {
  Fixture f;
  f.server->put_object("bucket", "k", "x");
  play(f, "H01_slow_down");
  const auto answer = read(*f.store, "k", 0, 1);
  EXPECT_EQ(error_of(answer).code(), ErrorCode::throttled);
  EXPECT_EQ(error_of(answer).retry_after(), std::chrono::seconds(2));
  EXPECT_EQ(f.server->count("GetObject"), 1U);  // a store does one try
}

TEST(S3StoreFaults, H01_NobodyThereIsRetryable) {
  Fixture f;
  auto options = testing::options_for(*f.server);
  f.server.reset();
  f.open(options);
  const auto listed = f.store->list({});
  EXPECT_EQ(listed.error().code(), ErrorCode::unreachable);
  EXPECT_TRUE(listed.error().is_retryable());
  EXPECT_NE(listed.error().describe().find(options.endpoint), std::string::npos);
  options.endpoint = "http://no-such-host.invalid";
  options.allow_http = true;
  f.open(options);
  EXPECT_EQ(f.store->list({}).error().code(), ErrorCode::unreachable);
}

TEST(S3StoreFaults, H03_TheServersClockIsTakenOnce) {
  Fixture f({.clock_ahead = std::chrono::minutes(20)});
  f.server->put_object("bucket", "k", "x");
  EXPECT_TRUE(f.store->list({}));
  EXPECT_EQ(f.server->requests().size(), 2U);
  EXPECT_TRUE(f.store->list({}));
  EXPECT_EQ(f.server->requests().size(), 3U);  // remembered
}

TEST(S3StoreFaults, H03_AClockThatStaysWrongStopsWithTheMeasure) {
  Fixture f;
  f.server->add_fault("times=every status=403 code=RequestTimeTooSkewed");
  f.server->set_clock_ahead(std::chrono::minutes(-20));
  const auto listed = f.store->list({});
  ASSERT_FALSE(listed);
  EXPECT_TRUE(listed.error().is_fatal());
  EXPECT_NE(listed.error().message().find("clock is 1"), std::string::npos) << listed.error().message();
  EXPECT_NE(listed.error().message().find("ahead of the server's"), std::string::npos) << listed.error().message();
  EXPECT_LE(f.server->requests().size(), 2U);
}

TEST(S3StoreFaults, H03_AClockThatAgreesIsNotCalledWrong) {
  Fixture f;
  f.server->add_fault("times=every status=403 code=RequestTimeTooSkewed");
  const auto listed = f.store->list({});
  ASSERT_FALSE(listed);
  EXPECT_TRUE(listed.error().is_fatal());
  const std::string& message = listed.error().message();
  EXPECT_NE(message.find("clock agrees with the answer's Date"), std::string::npos) << message;
  EXPECT_EQ(message.find("clock is "), std::string::npos) << message;
  EXPECT_EQ(message.find("set this machine's clock"), std::string::npos) << message;
  EXPECT_LE(f.server->requests().size(), 2U);
}

TEST(S3StoreFaults, H05_ABodyIsSentAgainFromItsBeginning) {
  Fixture f({.region = "eu-west-1"});
  auto options = testing::options_for(*f.server);
  options.region = "us-east-1";  // the first try is refused after the body was sent
  f.open(options);
  const std::string body = patterned(3U << 20U);
  const auto put = f.store->put({.key = "k", .body = body});
  ASSERT_TRUE(put) << put.error().describe();
  EXPECT_EQ(f.server->requests().size(), 2U);
  EXPECT_TRUE(*f.server->object("bucket", "k")->bytes == body);
}

TEST(S3StoreFaults, H06_NoIntegrityHeadersThatStoresRefuse) {
  Fixture f({.refuse_integrity_headers = true});
  EXPECT_TRUE(f.store->put({.key = "k", .body = "x"}));
  EXPECT_TRUE(f.store->get("k", 10));
}

}  // namespace
}  // namespace millrace::s3
