// SPDX-License-Identifier: Apache-2.0
// Goal: connections, descriptors and proxies behave as documented. Method: counts on the fault server and on this
// process, and a listener that plays the proxy.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/s3_fault_server/http_listener.h"
#include "tests/s3_store/credential_fakes.h"
#include "tests/s3_store/fixture.h"

namespace millrace::s3 {
namespace {

using testing::error_of;
using testing::Fixture;
using testing::read;

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

TEST(S3StoreTransport, G09_DescriptorsStayLevelOverFailures) {
  Fixture f;
  f.server->put_object("bucket", "k", std::string(20'000, 'x'));
  f.server->add_fault("op=GetObject key=gone times=every status=404 code=NoSuchKey");
  const auto round = [&](int count) {
    for (int i = 0; i < count; ++i) {
      EXPECT_TRUE(read(*f.store, "k", 0, 20'000).outcome.info);
      EXPECT_FALSE(read(*f.store, "gone", 0, 10).outcome.info);
      EXPECT_FALSE(read(*f.store, "k", 0, 10, ETag{"\"other\""}).outcome.info);  // 412
      EXPECT_FALSE(read(*f.store, "k", 0, 10, {}, 5).outcome.info);  // refused at its head, connection dropped
    }
  };
  round(10);
  const auto before = open_descriptors();
  round(50);
  // The server's side of a dropped connection may close a little later.
  EXPECT_LE(open_descriptors(), before + 4);
}

TEST(S3StoreTransport, ReadsInFlightReallyAreInFlight) {
  Fixture f;
  f.server->put_object("bucket", "k", std::string(64'000, 'x'));
  f.server->add_fault("op=GetObject times=every stall_after=1");
  std::vector<std::unique_ptr<testing::PendingRead>> reads;
  for (std::size_t i = 0; i < 64; ++i) {
    reads.push_back(std::make_unique<testing::PendingRead>(*f.store, "k", i * 1000, 1000));
  }
  EXPECT_TRUE(f.server->wait_for("GetObject", 64));  // none has been answered to its end
  f.store->cancel_all();
  for (auto& one : reads) EXPECT_EQ(error_of(one->wait()).code(), ErrorCode::cancelled);
  EXPECT_EQ(f.server->connections(), 64U);
}

TEST(S3StoreTransport, AProxyGetsTheRequestsUnlessTheHostIsExcluded) {
  Mutex mutex;
  std::vector<std::string> targets;
  const auto proxy = *millrace::testing::HttpListener::start({}, [&](const millrace::testing::HttpRequest& request) {
    const MutexLock lock(mutex);
    targets.push_back(request.target);
    millrace::testing::HttpAnswer answer;
    answer.status = 503;
    return answer;
  });
  Fixture f;
  S3Options options = testing::options_for(*f.server);
  options.proxy_url = proxy->endpoint();
  f.open(options);
  EXPECT_EQ(f.store->list({.prefix = "in/"}).error().code(), ErrorCode::unavailable);
  {
    const MutexLock lock(mutex);
    ASSERT_EQ(targets.size(), 1U);
    EXPECT_TRUE(targets[0].starts_with(f.server->endpoint() + "/bucket?encoding-type=url&")) << targets[0];
  }
  options.proxy_excludes = "127.0.0.1";
  f.open(options);
  EXPECT_TRUE(f.store->list({.prefix = "in/"}));
}

// Of the environment only AWS_* counts: other programs' proxies are other programs'.
TEST(S3StoreTransport, UnprefixedVariablesForProxiesAreNotRead) {
  Atomic<int> asked{0};
  const auto proxy = *millrace::testing::HttpListener::start({}, [&](const millrace::testing::HttpRequest&) {
    asked.fetch_add(1);
    millrace::testing::HttpAnswer answer;
    answer.status = 503;
    return answer;
  });
  testing::CleanEnvironment clean;
  Fixture f;
  S3Options options = testing::options_for(*f.server);
  const std::string server = options.endpoint;
  for (const char* name : {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}) {
    clean.set(name, proxy->endpoint());
  }
  // On no machine: a proxy would be asked for it, and nobody else can be.
  options.endpoint = "http://millrace.invalid";
  options.allow_http = true;
  f.open(options);
  EXPECT_EQ(f.store->list({}).error().code(), ErrorCode::unreachable);
  EXPECT_EQ(asked.load(), 0);
  // Nor do they take the proxy away that was asked for.
  options.endpoint = server;
  options.proxy_url = proxy->endpoint();
  for (const char* name : {"no_proxy", "NO_PROXY"}) clean.set(name, "*");
  f.open(options);
  EXPECT_EQ(f.store->list({}).error().code(), ErrorCode::unavailable);
  EXPECT_EQ(asked.load(), 1);
}

TEST(S3StoreTransport, AProxyThatFailsIsBlamedAndItsPasswordIsNotTold) {
  // Port 1 answers to nobody; an unknown name; a password that the proxy repeats.
  for (const char* url : {"http://me:SEKRET@127.0.0.1:1", "http://me:SEKRET@SEKRET.invalid:1"}) {
    Fixture f;
    S3Options options = testing::options_for(*f.server);
    options.proxy_url = url;
    f.open(options);
    const Error error = f.store->list({}).error();
    EXPECT_EQ(error.code(), ErrorCode::unreachable);
    EXPECT_NE(error.message().find("check store.proxy_url"), std::string::npos) << error.describe();
    EXPECT_EQ(error.describe().find("SEKRET"), std::string::npos) << error.describe();
    EXPECT_EQ(f.log->text().find("SEKRET"), std::string::npos) << f.log->text();
  }
}

TEST(S3StoreTransport, AServerThatRepeatsProxyAndAccessKeyIsNotQuoted) {
  const auto proxy = *millrace::testing::HttpListener::start({}, [](const millrace::testing::HttpRequest& request) {
    millrace::testing::HttpAnswer answer;
    answer.status = 403;
    answer.set_body("<Error><Code>AccessDenied</Code><Message>SEK%52ET SEKRET AKIDHIDDEN " +
                    std::string(request.header("authorization")) + "</Message></Error>");
    return answer;
  });
  Fixture f;
  S3Options options = testing::options_for(*f.server);
  options.keys->access_key_id = "AKIDHIDDEN";
  options.proxy_url = "http://me:SEK%52ET@" + proxy->endpoint().substr(7);
  f.open(options);
  const std::string said = f.store->list({}).error().describe();
  EXPECT_NE(said.find("AccessDenied"), std::string::npos) << said;
  for (const char* secret : {"SEKRET", "SEK%52ET", "AKIDHIDDEN"})
    EXPECT_EQ(said.find(secret), std::string::npos) << said;
}

TEST(S3StoreTransport, ABadProxyOpensNoStore) {
  Fixture f;
  S3Options options = testing::options_for(*f.server);
  options.proxy_url = "bogus://user:SEKRET@h:99999";
  const auto store = make_store(options, {});
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().message().find("SEKRET"), std::string::npos);
}

TEST(S3StoreTransport, TheUserAgentIsTold) {
  Fixture f;
  EXPECT_TRUE(f.store->list({}));
  const auto requests = f.server->requests();
  EXPECT_TRUE(requests.at(0).http.header("user-agent").starts_with("millrace/"));
  EXPECT_FALSE(requests.at(0).http.has_header("expect"));
  EXPECT_FALSE(requests.at(0).http.has_header("accept-encoding"));  // Content-Encoding is the reader's affair
}

TEST(S3StoreTransport, E05_AListingOfManyPagesIsSteady) {
  Fixture f({.check_signatures = false});
  f.server->set_synthetic_keys("bucket", {"in/", 50'000, std::make_shared<const std::string>("{}\n")});
  std::string token;
  std::string last;
  std::size_t keys = 0;
  do {
    auto page = f.store->list({.prefix = "in/", .continuation = token});
    ASSERT_TRUE(page) << page.error().describe();
    keys += page->objects.size();
    EXPECT_LT(last, page->objects.front().key);
    last = page->objects.back().key;
    token = page->continuation;
  } while (!token.empty());
  EXPECT_EQ(keys, 50'000U);
  EXPECT_EQ(f.server->count("ListObjectsV2"), 50U);
  EXPECT_EQ(f.server->connections(), 1U);
}

}  // namespace
}  // namespace millrace::s3
