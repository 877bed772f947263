// SPDX-License-Identifier: Apache-2.0
// Goal: what users of such systems have met (A to H of the fault rows) ends in the right class of error, keeps the good
// bytes, and asks no more than it should. Method: the fault server plays tests/s3_fault_server/cases.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "tests/s3_store/fixture.h"

namespace millrace::s3 {
namespace {

using testing::Fixture;
using testing::read;

std::string patterned(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
  return bytes;
}

void play(Fixture& f, std::string_view name) {
  const auto loaded = f.server->load_case(name);
  ASSERT_TRUE(loaded) << loaded.error().message();
}

const Error& error_of(const testing::ReadAnswer& answer) {
  EXPECT_FALSE(answer.outcome.info);
  return answer.outcome.info.error();
}

TEST(S3StoreFaults, A01_A03_A05_A08_A11_OddKeysAreSignedListedAndRead) {
  Fixture f({.page_size = 3});
  const std::set<std::string> keys = {"in/a b.ndjson",
                                      "in/a%20b.ndjson",
                                      "in/x%3Ay.ndjson",
                                      "in/dt=2026-01-01T00:00:00+02:00/p.ndjson",
                                      "in/[x]{y}.ndjson",
                                      "in/100%.ndjson",
                                      "in/a&b;c,d.ndjson",
                                      "in/q?v#f.ndjson",
                                      "in/a.ndjson",
                                      "in//b.ndjson",
                                      "in///c.ndjson",
                                      "in/c.ndjson",
                                      "in/./d",
                                      "in/../e",
                                      "in/trailing ",
                                      "in/tab\tx",
                                      "in/a\x01"
                                      "b",
                                      "in/\xc3\xa9.ndjson",
                                      "in/e\xcc\x81.ndjson",
                                      "in/back\\slash",
                                      "in/<&>\"'",
                                      "in/\xff\xfe"};
  for (const auto& key : keys) f.server->put_object("bucket", key, "body of " + key);
  std::set<std::string> seen;
  std::string token;
  do {
    const auto page = f.store->list({.prefix = "in/", .continuation = token});
    ASSERT_TRUE(page) << page.error().describe();
    for (const auto& object : page->objects) {
      EXPECT_TRUE(seen.insert(object.key).second) << object.key;
      const auto answer = read(*f.store, object.key, 0, object.size, object.etag, object.size);
      EXPECT_TRUE(answer.outcome.info) << answer.outcome.info.error().describe();
      EXPECT_EQ(answer.bytes, "body of " + object.key);
    }
    token = page->continuation;
  } while (!token.empty());
  EXPECT_EQ(seen, keys);
  for (const auto& request : f.server->requests()) EXPECT_LT(request.status, 300) << request.http.target;
  for (const auto& request : f.server->requests("ListObjectsV2"))
    EXPECT_EQ(request.query_value("encoding-type"), "url");
}

TEST(S3StoreFaults, A05_ALeadingSlashInAVirtualHost) {
  Fixture f({.virtual_host = "localhost"});
  f.server->put_object("bucket", "/x", "leading");
  auto options = testing::options_for(*f.server);
  options.endpoint = fmt::format("http://localhost:{}", f.server->port());
  options.virtual_hosted = true;
  f.open(options);  // bucket.localhost is this machine, by RFC 6761
  const auto answer = read(*f.store, "/x", 0, 7);
  ASSERT_TRUE(answer.outcome.info) << answer.outcome.info.error().describe();
  EXPECT_EQ(f.server->requests("GetObject").at(0).http.target, "//x");
}

TEST(S3StoreFaults, A09_APageThatIsCutStops) {
  Fixture f({.page_size = 1});
  f.server->put_object("bucket", "in/0", "x");
  f.server->put_object("bucket", "in/1", "x");
  play(f, "A09_raw_control_byte");
  const auto first = f.store->list({.prefix = "in/"});
  ASSERT_TRUE(first);
  const auto second = f.store->list({.prefix = "in/", .continuation = first->continuation});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::bad_response);
  EXPECT_NE(second.error().message().find("listing s3://bucket/in/"), std::string::npos) << second.error().message();
}

TEST(S3StoreFaults, A13_KeysAreMeasuredInBytesBeforeAnyRequest) {
  Fixture f;
  std::string key;
  for (int i = 0; i < 400; ++i) key += "\xe2\x82\xac";  // 400 euro signs, 1200 bytes
  const auto put = f.store->put({.key = key, .body = "x"});
  EXPECT_EQ(put.error().code(), ErrorCode::limit);
  EXPECT_TRUE(put.error().is_fatal());
  EXPECT_NE(put.error().message().find("1200 bytes"), std::string::npos);
  EXPECT_NE(put.error().message().find("1024"), std::string::npos);
  EXPECT_TRUE(f.server->requests().empty());
}

TEST(S3StoreFaults, B01_B02_EndpointsWithSlashAndPath) {
  Fixture f({.base_path = "/gw/s3"});
  f.server->put_object("bucket", "in/a b", "x");
  for (const char* tail : {"", "/"}) {
    auto options = testing::options_for(*f.server);
    options.endpoint += tail;
    f.open(options);
    EXPECT_TRUE(read(*f.store, "in/a b", 0, 1).outcome.info);
    EXPECT_TRUE(f.store->list({.prefix = "in/"}));
  }
  for (const auto& request : f.server->requests("GetObject")) EXPECT_EQ(request.http.target, "/gw/s3/bucket/in/a%20b");
  auto refused = testing::options_for(*f.server);
  refused.endpoint += "//";
  EXPECT_EQ(make_store(refused, {}).error().code(), ErrorCode::config);
}

TEST(S3StoreFaults, B03_OneSecondTryInTheRegionThatIsNamed) {
  for (const auto answer : {millrace::testing::WrongRegionAnswer::moved_permanently,
                            millrace::testing::WrongRegionAnswer::authorization_header_malformed}) {
    Fixture f({.region = "eu-west-1", .wrong_region = answer});
    f.server->put_object("bucket", "k", "x");
    auto options = testing::options_for(*f.server);
    options.region = "us-east-1";
    f.open(options);
    EXPECT_TRUE(f.store->list({}));
    EXPECT_EQ(f.server->requests().size(), 2U);
    EXPECT_TRUE(read(*f.store, "k", 0, 1).outcome.info);
    EXPECT_EQ(f.server->requests().size(), 3U);  // remembered
    EXPECT_NE(f.log->text().find("region=eu-west-1"), std::string::npos);
  }
}

TEST(S3StoreFaults, B03_NeverALoop) {
  Fixture f;
  f.server->add_fault("times=every status=301 code=PermanentRedirect header='x-amz-bucket-region: eu-west-9'");
  const auto listed = f.store->list({});
  ASSERT_FALSE(listed);
  EXPECT_TRUE(listed.error().is_fatal());
  EXPECT_NE(listed.error().message().find("store.region"), std::string::npos) << listed.error().message();
  EXPECT_LE(f.server->requests().size(), 2U);
}

TEST(S3StoreFaults, B05_NoMoreRightsThanTheJobNeeds) {
  Fixture f({.allowed_prefix = "in/"});
  f.server->put_object("bucket", "in/a", "x");
  EXPECT_TRUE(f.store->list({.prefix = "in/"}));
  EXPECT_TRUE(read(*f.store, "in/a", 0, 1).outcome.info);
  EXPECT_TRUE(f.store->put({.key = "in/b", .body = "y"}));
  EXPECT_EQ(f.server->count("Other"), 0U);
  EXPECT_EQ(f.server->requests().size(), 3U);
  EXPECT_EQ(f.store->list({.prefix = ""}).error().code(), ErrorCode::permission_denied);
}

TEST(S3StoreFaults, B09_ConditionsThatAreRefusedAreNamed) {
  Fixture f;
  f.server->add_fault("op=PutObject times=1 status=501 code=NotImplemented");
  f.server->add_fault("op=PutObject times=1 status=412 code=PreconditionFailed");
  const auto unknown = f.store->put({.key = "m", .body = "x", .condition = PutCondition::if_absent});
  EXPECT_EQ(unknown.error().code(), ErrorCode::not_supported);
  EXPECT_TRUE(unknown.error().is_fatal());
  const auto refused = f.store->put({.key = "m", .body = "x", .condition = PutCondition::if_absent});
  EXPECT_EQ(refused.error().code(), ErrorCode::precondition_failed);
}

TEST(S3StoreFaults, B10_EveryKindOfETag) {
  Fixture f;
  for (const char* etag : {"W/\"5d41\"", "abc", "\"d41d8-3\"", ""}) {
    f.server->put_object("bucket", "k", "0123456789", {.etag = etag});
    const auto page = f.store->list({});
    ASSERT_TRUE(page) << page.error().describe();
    EXPECT_EQ(page->objects.at(0).etag.value, etag);
    const auto answer = read(*f.store, "k", 3, 3, page->objects[0].etag, 10);
    ASSERT_TRUE(answer.outcome.info) << etag << ": " << answer.outcome.info.error().describe();
    EXPECT_EQ(answer.bytes, "345");
    EXPECT_EQ(answer.outcome.info->etag.value, etag);
  }
}

TEST(S3StoreFaults, B11_RequesterPaysOnEveryRequestOrNone) {
  Fixture f({.require_requester_pays = true});
  f.server->put_object("bucket", "k", "x");
  EXPECT_EQ(f.store->list({}).error().code(), ErrorCode::permission_denied);
  auto options = testing::options_for(*f.server);
  options.requester_pays = true;
  f.open(options);
  EXPECT_TRUE(f.store->list({}));
  EXPECT_TRUE(f.store->head("k"));
  EXPECT_TRUE(f.store->get("k", 10));
  EXPECT_TRUE(read(*f.store, "k", 0, 1).outcome.info);
  EXPECT_TRUE(f.store->put({.key = "p", .body = "x"}));
  EXPECT_TRUE(f.store->remove("p"));
  EXPECT_EQ(f.server->requests()[0].http.has_header("x-amz-request-payer"), false);
}

TEST(S3StoreFaults, C02_ARangeBehindTheEndIsDrift) {
  Fixture f;
  f.server->put_object("bucket", "k", "0123456789");
  const auto answer = read(*f.store, "k", 10, 5);
  EXPECT_EQ(error_of(answer).code(), ErrorCode::drift);
}

TEST(S3StoreFaults, E01_TokensAreOpaqueAndARepeatedOneStops) {
  Fixture f({.page_size = 1});
  for (int i = 0; i < 25; ++i) f.server->put_object("bucket", fmt::format("in/{}", i), "x");
  std::set<std::string> seen;
  std::string token;
  do {
    const auto page = f.store->list({.prefix = "in/", .continuation = token});
    ASSERT_TRUE(page) << page.error().describe();
    for (const auto& object : page->objects) EXPECT_TRUE(seen.insert(object.key).second);
    token = page->continuation;
  } while (!token.empty());
  EXPECT_EQ(seen.size(), 25U);
  play(f, "E01_repeated_token");
  const auto first = f.store->list({});
  ASSERT_TRUE(first) << first.error().describe();
  const auto second = f.store->list({.continuation = first->continuation});
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message().find("same continuation token"), std::string::npos);
}

TEST(S3StoreFaults, E08_AnArchivedObjectIsNeverTransient) {
  Fixture f;
  f.server->put_object("bucket", "k", "x", {.storage_class = "GLACIER"});
  EXPECT_EQ(f.store->list({})->objects.at(0).storage_class, "GLACIER");
  play(f, "E08_archived");
  const auto answer = read(*f.store, "k", 0, 1);
  EXPECT_TRUE(error_of(answer).is_fatal());
  EXPECT_NE(error_of(answer).message().find("archived"), std::string::npos);
  EXPECT_EQ(f.server->count("GetObject"), 1U);
}

TEST(S3StoreFaults, F01_AnOverwriteIsFoundByThePin) {
  Fixture f;
  f.server->put_object("bucket", "k", "0123456789");
  const ETag pin{"\"781e5e245d69b566979b86e28d23f2c7\""};
  play(f, "F01_overwritten");
  const auto cut = read(*f.store, "k", 0, 10, pin, 10);
  EXPECT_EQ(cut.bytes, "0123");
  EXPECT_TRUE(error_of(cut).is_retryable());
  const auto rest = read(*f.store, "k", 4, 6, pin, 10);
  EXPECT_EQ(error_of(rest).code(), ErrorCode::precondition_failed);
  EXPECT_EQ(rest.outcome.received, 0U);
  EXPECT_NE(error_of(rest).message().find("s3://bucket/k"), std::string::npos);
  play(f, "F01_conditions_ignored");
  const auto ignored = read(*f.store, "k", 4, 6, pin, 10);
  EXPECT_EQ(error_of(ignored).code(), ErrorCode::precondition_failed);
  EXPECT_EQ(ignored.outcome.received, 0U);
}

TEST(S3StoreFaults, F05_GoneIsPermanent) {
  Fixture f;
  f.server->put_object("bucket", "k", "0123456789");
  play(f, "F05_deleted");
  EXPECT_TRUE(read(*f.store, "k", 0, 10).outcome.info);
  const auto gone = read(*f.store, "k", 0, 10);
  EXPECT_EQ(error_of(gone).code(), ErrorCode::not_found);
  EXPECT_TRUE(error_of(gone).is_fatal());
}

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

// The transport measures over five seconds, so the one second of the fixture takes some more.
TEST(S3StoreFaults, G06_AStallAndATrickleEndByThemselves) {
  Fixture f;
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
  Fixture f({.idle_timeout = std::chrono::milliseconds(20)});
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(f.store->put({.key = "k", .body = fmt::format("{}", i)}));
    EXPECT_TRUE(f.store->get("k", 10));
    // The server has closed the connection by the time of the next round.
    Mutex mutex;
    CondVar never;
    const MutexLock lock(mutex);
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(40);
    while (std::chrono::steady_clock::now() < until) never.wait_until_real(mutex, until);
  }
  EXPECT_EQ(*f.server->object("bucket", "k")->bytes, "4");
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
