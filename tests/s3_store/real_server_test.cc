// SPDX-License-Identifier: Apache-2.0
// Goal: the S3 store against a server that was not written for it (SeaweedFS). Method: the conformance suite and a few
// cases of our own over the server that MILLRACE_TEST_S3_ENDPOINT names; without one nothing is run, and says so,
// except where CI or MILLRACE_REQUIRE_S3 is set: there it fails.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <string>

#include "millrace/testing/store_conformance.h"
#include "tests/s3_store/fixture.h"

namespace millrace::s3 {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class ServerIsThere final : public ::testing::Environment {
 public:
  void SetUp() override {
    if (!variable("MILLRACE_TEST_S3_ENDPOINT").empty()) return;
    // gtest reports a set-up that fails as skipped tests, and ctest goes by that word: end at once instead.
    if (!variable("CI").empty() || !variable("MILLRACE_REQUIRE_S3").empty()) {
      std::fputs("MILLRACE_TEST_S3_ENDPOINT names no server, and here no suite may be left out\n", stderr);
      std::exit(1);
    }
    std::puts("[  SKIPPED ] not run: MILLRACE_TEST_S3_ENDPOINT names no server");
    GTEST_SKIP();
  }
};
[[maybe_unused]] const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new ServerIsThere);

S3Options options() {
  S3Options options;
  options.bucket = "millrace-ready";  // made by the script that starts the server
  options.endpoint = variable("MILLRACE_TEST_S3_ENDPOINT");
  options.keys = Credentials{variable("MILLRACE_TEST_S3_ACCESS_KEY"), variable("MILLRACE_TEST_S3_SECRET_KEY"), "",
                             INT64_MAX, "the test"};
  return options;
}

std::shared_ptr<ObjectStore> open(const S3Options& options) {
  auto made = make_store(options, {});
  if (!made) ADD_FAILURE() << made.error().message();
  return made ? *made : nullptr;
}

// No two runs and no two tests share keys.
std::string fresh_prefix() {
  std::random_device random;
  return "s3-store-" + std::to_string(random()) + std::to_string(random()) + "/";
}

// SeaweedFS is a file system below: it normalises keys. It keeps each part under its ETag, the replaced ones too.
constexpr millrace::testing::StorePredicates kSeaweed = {.empty_segments = false,
                                                         .directory_markers = false,
                                                         .file_and_folder = false,
                                                         .backslashes = false,
                                                         .replaced_parts_go = false,
                                                         .least_part = 5U << 20U};

[[maybe_unused]] const int kCases = millrace::testing::register_store_conformance(
    "S3StoreOnSeaweedFS", kSeaweed, [] { return millrace::testing::StoreUnderTest{open(options()), fresh_prefix()}; });

TEST(S3StoreOnSeaweedFSToo, OddKeysAreSignedListedAndRead) {
  const auto store = open(options());
  const std::string prefix = fresh_prefix();
  const std::set<std::string> names = {"a b",
                                       "a+b",
                                       "a%20b",
                                       "100%",
                                       "q?v#f",
                                       "a&b;c,d",
                                       "[x]{y}",
                                       "dt=2026-01-01T00:00:00+02:00",
                                       "\xc3\xa9",
                                       "e\xcc\x81",
                                       "~tilde",
                                       "quote'\"",
                                       "\xe6\x97\xa5\xe6\x9c\xac"};
  for (const auto& name : names) {
    const auto put = store->put({.key = prefix + name, .body = name});
    ASSERT_TRUE(put) << name << ": " << put.error().describe();
  }
  const auto page = store->list({.prefix = prefix});
  ASSERT_TRUE(page) << page.error().describe();
  std::set<std::string> listed;
  for (const auto& object : page->objects) {
    listed.insert(object.key.substr(prefix.size()));
    const auto answer = testing::read(*store, object.key, 0, object.size, object.etag, object.size);
    EXPECT_TRUE(answer.outcome.info) << answer.outcome.info.error().describe();
    EXPECT_EQ(prefix + answer.bytes, object.key);
    EXPECT_TRUE(store->remove(object.key));
  }
  EXPECT_EQ(listed, names);
}

TEST(S3StoreOnSeaweedFSToo, WrongKeysAreNamedAsSuch) {
  S3Options wrong = options();
  wrong.keys->secret_access_key = "not-the-secret-key";
  const auto listed = open(wrong)->list({.prefix = "x"});
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code(), ErrorCode::credentials) << listed.error().describe();
  EXPECT_TRUE(listed.error().is_fatal());
  EXPECT_EQ(listed.error().describe().find("not-the-secret-key"), std::string::npos);
  wrong.keys->access_key_id = "nobody";
  EXPECT_EQ(open(wrong)->list({.prefix = "x"}).error().code(), ErrorCode::credentials);
}

TEST(S3StoreOnSeaweedFSToo, NoSuchBucketIsNoMissingKey) {
  S3Options other = options();
  other.bucket = "no-such-bucket-here";
  const auto listed = open(other)->list({.prefix = "x"});
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code(), ErrorCode::invalid_request) << listed.error().describe();
}

}  // namespace
}  // namespace millrace::s3
