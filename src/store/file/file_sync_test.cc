// SPDX-License-Identifier: Apache-2.0
// Goal: nothing is called durable, or "there already", before it has been synced. Method: this program's own fsync
// stands in front of the C library's, notes what it is called for, and fails on demand. A power cut cannot be staged
// here; which syncs were asked for before put() returned can be counted.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "store/file/file_store.h"

namespace {

std::vector<std::string> g_synced;  // of the only thread here that puts
std::string g_failing;              // the path whose next sync fails

}  // namespace

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name)
extern "C" int fsync(int descriptor) {
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor)).string();
  if (path == g_failing) {
    g_failing.clear();
    errno = EIO;
    return -1;
  }
  g_synced.push_back(path);
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

namespace millrace {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Not;

class FileSyncTest : public testing::Test {
 protected:
  FileSyncTest() {
    char name[] = "/tmp/millrace-file-sync-XXXXXX";
    root_ = ::mkdtemp(name);
    g_failing.clear();
    again();
  }
  ~FileSyncTest() override { std::filesystem::remove_all(root_); }
  /// As a new process would come: with nothing remembered.
  void again() {
    store_ = make_file_store({.root = root_, .read_threads = 0}, {});
    g_synced.clear();
  }
  /// What a killed put leaves after its rename: the object, and nothing synced.
  void left_behind(const std::string& key, std::string_view bytes) {
    const std::filesystem::path path = root_ + "/" + key;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
  std::string root_;
  std::shared_ptr<ObjectStore> store_;
};

// A kill between rename and sync: the next run's create-only put is refused, and its caller takes the bytes for his.
TEST_F(FileSyncTest, INV1_AlreadyThereIsSaidAfterTheSync) {
  left_behind("out/a", "bytes");
  again();
  const auto put = store_->put({.key = "out/a", .body = "bytes", .condition = PutCondition::if_absent});
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code(), ErrorCode::precondition_failed);
  EXPECT_THAT(g_synced, AllOf(Contains(root_ + "/out"), Contains(root_ + "/out/a")));
}

// The same put again after its own sync of the folder failed.
TEST_F(FileSyncTest, INV1_ARetryAfterAFailedSyncSyncsAgain) {
  const PutRequest request{.key = "a", .body = "bytes", .condition = PutCondition::if_absent};
  g_failing = root_;
  const auto first = store_->put(request);
  ASSERT_FALSE(first);
  EXPECT_TRUE(first.error().is_retryable()) << first.error().message();
  g_synced.clear();
  g_failing = root_;
  const auto second = store_->put(request);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().code(), ErrorCode::precondition_failed) << "it is there, but not for good";
  g_synced.clear();
  EXPECT_EQ(store_->put(request).error().code(), ErrorCode::precondition_failed);
  EXPECT_THAT(g_synced, Contains(root_));
}

// A lost answer of a replacement is looked into in the same way.
TEST_F(FileSyncTest, INV1_AMismatchIsSaidAfterTheSync) {
  left_behind("out/a", "bytes");
  again();
  const auto put = store_->put(
      {.key = "out/a", .body = "bytes", .condition = PutCondition::if_match, .etag = ETag{"\"an-earlier-one\""}});
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code(), ErrorCode::precondition_failed);
  EXPECT_THAT(g_synced, AllOf(Contains(root_ + "/out"), Contains(root_ + "/out/a")));
}

// A kill between mkdir and the sync of the folder above: the next run finds the folder made.
TEST_F(FileSyncTest, INV1_FoldersThatWereThereAreSyncedOnce) {
  std::filesystem::create_directories(root_ + "/in/the/deep");
  ASSERT_TRUE(store_->put({.key = "in/the/deep/a", .body = "x"}));
  EXPECT_THAT(g_synced, AllOf(Contains(root_), Contains(root_ + "/in"), Contains(root_ + "/in/the")));
  g_synced.clear();
  ASSERT_TRUE(store_->put({.key = "in/the/deep/b", .body = "x"}));
  EXPECT_THAT(g_synced, AllOf(Contains(root_ + "/in/the/deep"), Not(Contains(root_ + "/in/the"))));
}

TEST_F(FileSyncTest, INV1_AFolderAboveThatCannotBeSyncedIsNoSuccess) {
  std::filesystem::create_directories(root_ + "/in");
  g_failing = root_;
  EXPECT_FALSE(store_->put({.key = "in/a", .body = "x"}));
  EXPECT_TRUE(store_->put({.key = "in/a", .body = "x"}));
}

// Nobody has the id of an upload that was not begun: what it leaves would lie until the process ends.
TEST_F(FileSyncTest, ABeginThatFailsLeavesNothing) {
  std::filesystem::create_directories(root_ + "/in");
  g_failing = root_;
  EXPECT_FALSE(store_->begin_upload({.key = "in/a"}));
  EXPECT_TRUE(std::filesystem::is_empty(root_ + "/in"));
}

// The bytes before the name, the name before the answer, and the parts go last.
TEST_F(FileSyncTest, INV1_ACompletionIsDurableBeforeItIsSaid) {
  const UploadId upload = store_->begin_upload({.key = "out/a"}).value();
  const PartResult parts[] = {store_->put_part(upload, 1, "one").value(), store_->put_part(upload, 2, "two").value()};
  g_synced.clear();
  ASSERT_TRUE(store_->complete_upload(upload, parts));
  ASSERT_EQ(g_synced.size(), 2U) << "the file under its temporary name, and its folder";
  EXPECT_TRUE(g_synced[0].starts_with(root_ + "/out/.millrace-put-")) << g_synced[0];
  EXPECT_EQ(g_synced[1], root_ + "/out");
}

TEST_F(FileSyncTest, INV1_ACompletionThatCannotBeMadeDurableIsNoSuccessAndKeepsItsParts) {
  const UploadId upload = store_->begin_upload({.key = "out/a"}).value();
  const PartResult parts[] = {store_->put_part(upload, 1, "one").value()};
  g_failing = root_ + "/out";
  const auto failed = store_->complete_upload(upload, parts, PutCondition::if_absent);
  ASSERT_FALSE(failed);
  EXPECT_TRUE(failed.error().is_retryable()) << failed.error().message();
  // The object has its name already: the next try says so, and not before it has synced it.
  g_synced.clear();
  EXPECT_EQ(store_->complete_upload(upload, parts, PutCondition::if_absent).error().code(),
            ErrorCode::precondition_failed);
  EXPECT_THAT(g_synced, AllOf(Contains(root_ + "/out"), Contains(root_ + "/out/a")));
}

}  // namespace
}  // namespace millrace
