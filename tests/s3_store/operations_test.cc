// SPDX-License-Identifier: Apache-2.0
// Goal: each operation of the store, as S3 means it, against the project's fault server, which checks every signature.
#include "store/s3/s3_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "tests/s3_store/fixture.h"

namespace millrace::s3 {
namespace {

using testing::Fixture;
using testing::read;

TEST(S3Store, ReadsARangeWithItsFacts) {
  Fixture f;
  f.server->put_object("bucket", "k", "0123456789",
                       {.last_modified = 1'767'225'600'000'000, .content_encoding = "gzip"});
  const auto answer = read(*f.store, "k", 2, 3, ETag{"\"781e5e245d69b566979b86e28d23f2c7\""}, 10);
  ASSERT_TRUE(answer.outcome.info) << answer.outcome.info.error().describe();
  EXPECT_EQ(answer.bytes, "234");
  EXPECT_EQ(answer.outcome.info->object_size, 10U);
  EXPECT_EQ(answer.outcome.info->etag.value, "\"781e5e245d69b566979b86e28d23f2c7\"");  // md5sum of the bytes
  EXPECT_EQ(answer.outcome.info->last_modified, 1'767'225'600'000'000);
  EXPECT_EQ(answer.outcome.info->content_encoding, "gzip");
  const auto requests = f.server->requests("GetObject");
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].http.header("range"), "bytes=2-4");
  EXPECT_EQ(requests[0].http.header("if-match"), "\"781e5e245d69b566979b86e28d23f2c7\"");
}

TEST(S3Store, ListsPageByPage) {
  Fixture f({.page_size = 2});
  for (const char* key : {"in/a", "in/b", "in/c", "out"}) f.server->put_object("bucket", key, "12345");
  const auto first = f.store->list({.prefix = "in/"});
  ASSERT_TRUE(first) << first.error().describe();
  ASSERT_EQ(first->objects.size(), 2U);
  EXPECT_EQ(first->objects[0].key, "in/a");
  EXPECT_EQ(first->objects[0].size, 5U);
  EXPECT_EQ(first->objects[0].etag.value, "\"827ccb0eea8a706c4c34a16891f84e7b\"");  // md5sum
  EXPECT_EQ(first->objects[0].storage_class, "STANDARD");
  EXPECT_NE(first->objects[0].last_modified, kNoTimestamp);
  const auto second = f.store->list({.prefix = "in/", .continuation = first->continuation});
  ASSERT_TRUE(second) << second.error().describe();
  ASSERT_EQ(second->objects.size(), 1U);
  EXPECT_EQ(second->objects[0].key, "in/c");
  EXPECT_EQ(second->continuation, "");
  const auto after = f.store->list({.prefix = "in/", .start_after = "in/b"});
  ASSERT_TRUE(after);
  EXPECT_EQ(after->objects.size(), 1U);
}

TEST(S3Store, PutsUnderConditions) {
  Fixture f;
  const auto first = f.store->put({.key = "m",
                                   .body = "one",
                                   .condition = PutCondition::if_absent,
                                   .content_type = "application/json",
                                   .metadata = {{"sha", "1"}}});
  ASSERT_TRUE(first) << first.error().describe();
  EXPECT_EQ(first->etag.value, "\"f97c5d29941bfb1b2fdab0874906ab82\"");  // md5sum
  const auto again = f.store->put({.key = "m", .body = "two", .condition = PutCondition::if_absent});
  EXPECT_EQ(again.error().code(), ErrorCode::precondition_failed);
  EXPECT_TRUE(f.store->put({.key = "m", .body = "two", .condition = PutCondition::if_match, .etag = first->etag}));
  const auto stale =
      f.store->put({.key = "m", .body = "three", .condition = PutCondition::if_match, .etag = first->etag});
  EXPECT_EQ(stale.error().code(), ErrorCode::precondition_failed);
  const auto gone = f.store->put({.key = "n", .body = "x", .condition = PutCondition::if_match, .etag = first->etag});
  EXPECT_EQ(gone.error().code(), ErrorCode::precondition_failed);
  EXPECT_EQ(*f.server->object("bucket", "m")->bytes, "two");
}

TEST(S3Store, GetsWholeHeadsAndRemoves) {
  Fixture f;
  f.server->put_object("bucket", "m", "manifest", {.content_type = "x/y", .metadata = {{"sha", "1"}}});
  const auto whole = f.store->get("m", 8);
  ASSERT_TRUE(whole) << whole.error().describe();
  EXPECT_EQ(whole->bytes, "manifest");
  EXPECT_EQ(f.store->get("m", 7).error().code(), ErrorCode::too_large);
  EXPECT_EQ(f.store->get("none", 7).error().code(), ErrorCode::not_found);
  const auto head = f.store->head("m");
  ASSERT_TRUE(head) << head.error().describe();
  EXPECT_EQ(head->info.size, 8U);
  EXPECT_EQ(head->info.etag, whole->etag);
  EXPECT_EQ(head->metadata, (std::vector<std::pair<std::string, std::string>>{{"sha", "1"}}));
  EXPECT_EQ(f.store->head("none").error().code(), ErrorCode::not_found);
  EXPECT_TRUE(f.store->remove("m"));
  EXPECT_TRUE(f.store->remove("m"));
  EXPECT_EQ(f.store->head("m").error().code(), ErrorCode::not_found);
}

TEST(S3Store, ManyReadsShareFewConnections) {
  Fixture f;
  std::string bytes;
  for (int i = 0; i < 200'000; ++i) bytes += static_cast<char>('a' + i % 23);
  f.server->put_object("bucket", "k", bytes);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<testing::PendingRead>> reads;
    for (std::size_t i = 0; i < 8; ++i) {
      reads.push_back(std::make_unique<testing::PendingRead>(*f.store, "k", i * 25'000, 25'000));
    }
    for (std::size_t i = 0; i < 8; ++i) ASSERT_EQ(reads[i]->wait().bytes, bytes.substr(i * 25'000, 25'000));
  }
  EXPECT_LE(f.server->connections(), 8U);
}

TEST(S3Store, RefusesWhatCannotBeAsked) {
  Fixture f;
  EXPECT_EQ(read(*f.store, "k", 0, 0).outcome.info.error().code(), ErrorCode::invalid_request);
  EXPECT_EQ(read(*f.store, "", 0, 1).outcome.info.error().code(), ErrorCode::invalid_request);
  EXPECT_EQ(read(*f.store, "k", 0, 1, ETag{"a\r\nx: y"}).outcome.info.error().code(), ErrorCode::invalid_request);
  EXPECT_EQ(f.store->put({.key = "k", .body = "", .content_type = "a\nb"}).error().code(), ErrorCode::invalid_request);
  EXPECT_EQ(f.store->get("", 1).error().code(), ErrorCode::invalid_request);
  EXPECT_EQ(f.store->remove("").error().code(), ErrorCode::invalid_request);
  EXPECT_TRUE(f.server->requests().empty());
}

TEST(S3Store, CancelEndsAReadAtOnce) {
  Fixture f;
  f.server->put_object("bucket", "k", "0123456789");
  f.server->add_fault("op=GetObject times=every stall_after=4");
  testing::PendingRead stalled(*f.store, "k", 0, 10);
  ASSERT_TRUE(f.server->wait_for("GetObject", 1));
  stalled.cancel();
  EXPECT_EQ(stalled.wait().outcome.info.error().code(), ErrorCode::cancelled);
  stalled.cancel();  // nothing more happens
  testing::PendingRead other(*f.store, "k", 0, 10);
  ASSERT_TRUE(f.server->wait_for("GetObject", 2));
  f.store->cancel_all();
  EXPECT_EQ(other.wait().outcome.info.error().code(), ErrorCode::cancelled);
  EXPECT_EQ(f.store->list({}).error().code(), ErrorCode::cancelled);
  EXPECT_EQ(read(*f.store, "k", 0, 10).outcome.info.error().code(), ErrorCode::cancelled);
}

TEST(S3Store, DroppingTheStoreEndsItsReads) {
  Fixture f;
  f.server->put_object("bucket", "k", "0123456789");
  f.server->add_fault("op=GetObject times=every stall_after=4");
  testing::PendingRead stalled(*f.store, "k", 0, 10);
  f.store.reset();
  EXPECT_EQ(stalled.wait().outcome.info.error().code(), ErrorCode::cancelled);
  stalled.cancel();
}

/// Has this process a thread whose name begins so?
bool is_running(const std::string& name) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string comm;
    std::getline(std::ifstream(task.path() / "comm"), comm);
    if (comm.starts_with(name)) return true;
  }
  return false;
}

TEST(S3Store, ACompletionMayDropTheLastOwner) {
  Fixture f;
  f.server->put_object("bucket", "k", "0123456789");
  Mutex mutex;
  CondVar arrived;
  bool done = false;
  std::string bytes(10, '#');
  ReadRequest request;
  request.key = "k";
  request.destination = bytes;
  request.done = [&, owner = f.store](ReadOutcome outcome) mutable {
    EXPECT_TRUE(outcome.info);
    owner.reset();
    const MutexLock lock(mutex);
    done = true;
    arrived.notify_all();
  };
  ObjectStore& store = *f.store;
  f.store.reset();
  store.start_read(std::move(request));
  {
    const MutexLock lock(mutex);
    while (!done) arrived.wait(mutex);
  }
  EXPECT_EQ(bytes, "0123456789");
  // What a thread keeps for OpenSSL is freed at its end, and nobody is left to join it.
  while (is_running("s3-")) {
  }
}

TEST(S3Store, DescribesItselfWithoutKeys) {
  Fixture f;
  EXPECT_EQ(f.store->describe(), "s3://bucket");
}

}  // namespace
}  // namespace millrace::s3
