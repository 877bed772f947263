// SPDX-License-Identifier: Apache-2.0
// Goal: what users of such systems have met (rows A to F) ends in the right class of error, keeps the good
// bytes, and asks no more than it should. Method: the fault server plays tests/s3_fault_server/cases.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "tests/s3_store/fixture.h"

namespace millrace::s3 {
namespace {

using testing::error_of;
using testing::Fixture;
using testing::play;
using testing::read;

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

TEST(S3StoreFaults, B03_ARedirectToTheSameRegionIsTheEndpointsMatter) {
  Fixture f;
  f.server->add_fault("times=every status=301 code=PermanentRedirect header='x-amz-bucket-region: us-east-1'");
  const auto listed = f.store->list({});
  ASSERT_FALSE(listed);
  EXPECT_TRUE(listed.error().is_fatal());
  for (const char* part :
       {"signed for region 'us-east-1', and the server names the same one", "check store.endpoint"}) {
    EXPECT_NE(listed.error().message().find(part), std::string::npos) << listed.error().message();
  }
  EXPECT_EQ(f.server->requests().size(), 1U) << "the same request would bring the same answer";
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

TEST(S3StoreFaults, E08_NoOtherRefusalOfAReadPassesForAnArchivedObject) {
  Fixture f;
  f.server->put_object("bucket", "k", "x");
  for (const char* answer : {"status=501 code=NotImplemented", "status=405 code=MethodNotAllowed", "status=411"}) {
    f.server->add_fault(std::string("op=GetObject times=1 ") + answer);
    EXPECT_EQ(error_of(read(*f.store, "k", 0, 1)).code(), ErrorCode::invalid_request) << answer;
  }
  f.server->add_fault("op=GetObject times=1 status=403 code=InvalidObjectState");
  EXPECT_EQ(error_of(read(*f.store, "k", 0, 1)).code(), ErrorCode::not_supported);
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

}  // namespace
}  // namespace millrace::s3
