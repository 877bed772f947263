// SPDX-License-Identifier: Apache-2.0
#include "store/file/file_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "millrace/base/sync.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FileStoreTest : public testing::Test {
 protected:
  FileStoreTest() {
    char name[] = "/tmp/millrace-file-store-XXXXXX";
    root_ = ::mkdtemp(name);
    store_ = make_file_store({.root = root_}, {});
  }
  ~FileStoreTest() override {
    std::filesystem::permissions(root_, std::filesystem::perms::owner_all);
    std::filesystem::remove_all(root_);
  }
  void write(const std::string& key, std::string_view bytes) {
    const std::filesystem::path path = root_ + "/" + key;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
  std::string bytes_of(const std::string& key) {
    std::ifstream file(root_ + "/" + key, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> list(const ListRequest& first) {
    std::vector<std::string> keys;
    ListRequest request = first;
    do {
      auto page = store_->list(request);
      if (!page) return {page.error().message()};
      for (const ObjectInfo& object : page->objects) keys.push_back(object.key);
      request.continuation = page->continuation;
    } while (!request.continuation.empty());
    return keys;
  }
  ReadOutcome read(const std::string& key, std::string& into, ETag tag = {}, std::uint64_t offset = 0) {
    Mutex mutex;
    CondVar ended;
    std::optional<ReadOutcome> outcome;
    ReadRequest request{.key = key, .offset = offset, .destination = into, .if_match = std::move(tag)};
    request.done = [&](ReadOutcome got) {
      const MutexLock lock(mutex);
      outcome = std::move(got);
      ended.notify_all();
    };
    store_->start_read(std::move(request));
    const MutexLock lock(mutex);
    while (!outcome) ended.wait(mutex);
    return *std::move(outcome);
  }

  std::string root_;
  std::shared_ptr<ObjectStore> store_;
};

// Sorted by key, not by folder: "a-b" and "a.x" stand before what lies in "a/".
TEST_F(FileStoreTest, ListsInTheByteOrderOfKeys) {
  for (const char* key : {"a/1", "a/2", "a-b", "a.x", "b", "ab/c", "a/z/q"}) write(key, "x");
  EXPECT_THAT(list({}), ElementsAre("a-b", "a.x", "a/1", "a/2", "a/z/q", "ab/c", "b"));
  EXPECT_THAT(list({.max_keys = 1}), ElementsAre("a-b", "a.x", "a/1", "a/2", "a/z/q", "ab/c", "b"));
  EXPECT_THAT(list({.prefix = "a/"}), ElementsAre("a/1", "a/2", "a/z/q"));
  EXPECT_THAT(list({.start_after = "a/1"}), ElementsAre("a/2", "a/z/q", "ab/c", "b"));
  EXPECT_THAT(list({.start_after = "a/y"}), ElementsAre("a/z/q", "ab/c", "b"));
}

// A token is good for more than one try, and after its walk was forgotten.
TEST_F(FileStoreTest, APageCanBeAskedForAgain) {
  for (const char* key : {"a", "b/c", "b/d", "e"}) write(key, "x");
  const auto first = store_->list({.max_keys = 2});
  ASSERT_TRUE(first);
  for (int i = 0; i < 10; ++i) {
    const auto second = store_->list({.continuation = first->continuation, .max_keys = 2});
    ASSERT_TRUE(second);
    ASSERT_EQ(second->objects.size(), 2U);
    EXPECT_EQ(second->objects[0].key, "b/d");
    EXPECT_EQ(second->objects[1].key, "e");
  }
  EXPECT_FALSE(store_->list({.continuation = "made up"}));
}

TEST_F(FileStoreTest, DotNamesAreListedOnlyWhereThePrefixSpellsThem) {
  write(".hidden/a", "x");
  write("in/.millrace-put-1", "x");
  write("in/.part/b", "x");
  write("in/c", "x");
  EXPECT_THAT(list({}), ElementsAre("in/c"));
  EXPECT_THAT(list({.prefix = ".hidden/"}), ElementsAre(".hidden/a"));
  EXPECT_THAT(list({.prefix = "in/.part/"}), ElementsAre("in/.part/b"));
  EXPECT_THAT(list({.prefix = "in/.p"}), IsEmpty());
  EXPECT_EQ(store_->get(".hidden/a", 10)->bytes, "x");
}

// A03 A05 A08 A11: any byte that a file name allows, also those that are not UTF-8.
TEST_F(FileStoreTest, A03_EveryByteOfAFileName) {
  std::vector<std::string> keys;
  for (int byte = 1; byte < 256; ++byte) {
    if (byte == '/') continue;
    keys.push_back(std::string("in/x") + static_cast<char>(byte) + "y");
    write(keys.back(), std::to_string(byte));
  }
  std::ranges::sort(keys);
  EXPECT_EQ(list({.prefix = "in/", .max_keys = 10}), keys);
  EXPECT_EQ(store_->get("in/x\ny", 10)->bytes, "10");
  EXPECT_EQ(store_->get("in/x\xFFy", 10)->bytes, "255");
}

TEST_F(FileStoreTest, A05_PathsThatNormaliseToAFileAreNotItsKey) {
  write("in/a", "x");
  for (const char* key : {"in//a", "/in/a", "./in/a", "in/../in/a", "in/a/", "in/", ""}) {
    EXPECT_EQ(store_->head(key).error().code(), ErrorCode::not_found) << key;
    EXPECT_EQ(store_->get(key, 10).error().code(), ErrorCode::not_found) << key;
    EXPECT_EQ(store_->put({.key = key, .body = "y"}).error().code(), ErrorCode::invalid_request) << key;
    EXPECT_TRUE(store_->remove(key)) << key;
  }
  EXPECT_EQ(bytes_of("in/a"), "x");
  EXPECT_THAT(list({.prefix = "in//"}), IsEmpty());
}

TEST_F(FileStoreTest, LinksAreFollowed) {
  write("real/a", "x");
  std::filesystem::create_symlink(root_ + "/real/a", root_ + "/link");
  std::filesystem::create_directory_symlink(root_ + "/real", root_ + "/sub");
  EXPECT_THAT(list({}), ElementsAre("link", "real/a", "sub/a"));
  EXPECT_EQ(store_->get("sub/a", 10)->bytes, "x");
}

TEST_F(FileStoreTest, ALinkThatCouldHideDataFailsTheListing) {
  write("in/a", "x");
  std::filesystem::create_symlink(root_ + "/gone", root_ + "/in/dangling");
  EXPECT_THAT(list({}), ElementsAre(HasSubstr("in/dangling: is a symbolic link to nothing")));
  std::filesystem::remove(root_ + "/in/dangling");
  std::filesystem::create_directory_symlink(root_, root_ + "/in/loop");
  EXPECT_THAT(list({}), ElementsAre(HasSubstr("in/loop/: is a symbolic link back to")));
}

TEST_F(FileStoreTest, AFifoIsNoObjectAndBlocksNobody) {
  write("in/a", "x");
  ASSERT_EQ(::mkfifo((root_ + "/in/fifo").c_str(), 0600), 0);
  EXPECT_THAT(list({}), ElementsAre("in/a"));
  EXPECT_EQ(store_->get("in/fifo", 10).error().code(), ErrorCode::not_found);
  EXPECT_EQ(store_->head("in/fifo").error().code(), ErrorCode::not_found);
}

// Whoever names a device or a pipe by mistake keeps it.
TEST_F(FileStoreTest, APutReplacesNothingButFiles) {
  ASSERT_EQ(::mkfifo((root_ + "/pipe").c_str(), 0600), 0);
  write("file", "old");
  ASSERT_EQ(::symlink((root_ + "/file").c_str(), (root_ + "/link").c_str()), 0);
  for (const char* name : {"pipe", "link"}) {
    for (const PutCondition condition : {PutCondition::none, PutCondition::if_absent}) {
      const auto put = store_->put({.key = name, .body = "new", .condition = condition});
      ASSERT_FALSE(put) << name;
      EXPECT_TRUE(put.error().is_fatal());
      EXPECT_NE(put.error().message().find(name), std::string::npos);
    }
  }
  EXPECT_TRUE(std::filesystem::is_fifo(root_ + "/pipe"));
  EXPECT_TRUE(std::filesystem::is_symlink(root_ + "/link"));
  EXPECT_EQ(bytes_of("file"), "old");
  EXPECT_TRUE(store_->remove("pipe"));
  EXPECT_TRUE(std::filesystem::is_fifo(root_ + "/pipe"));
}

TEST_F(FileStoreTest, AFolderThatMayNotBeReadFailsTheListing) {
  write("in/a", "x");
  std::filesystem::permissions(root_, std::filesystem::perms(0755));
  std::filesystem::permissions(root_ + "/in", std::filesystem::perms::none);
  ::setfsuid(65534);  // of this thread only: root may read everything
  const auto listed = list({});
  ::setfsuid(::geteuid());
  std::filesystem::permissions(root_ + "/in", std::filesystem::perms::owner_all);
  EXPECT_THAT(listed, ElementsAre(HasSubstr("in/: cannot be listed: Permission denied")));
}

TEST_F(FileStoreTest, AMissingFolderHoldsNothing) {
  EXPECT_THAT(list({.prefix = "no/such/folder/"}), IsEmpty());
  write("file", "x");
  EXPECT_THAT(list({.prefix = "file/"}), IsEmpty());
}

// F01: a file that changes in place is not the object that was pinned, whichever way it changed.
TEST_F(FileStoreTest, F01_AChangeInPlaceIsSeen) {
  write("a", "1111");
  const ETag tag = store_->head("a")->info.etag;
  std::string into(4, '\0');
  EXPECT_TRUE(read("a", into, tag).info);
  EXPECT_EQ(into, "1111");
  write("a", "2222");
  ::timespec times[2] = {{1'000'000'000, 1}, {1'000'000'000, 1}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (root_ + "/a").c_str(), times, 0), 0);
  const ReadOutcome outcome = read("a", into, tag);
  ASSERT_FALSE(outcome.info);
  EXPECT_EQ(outcome.info.error().code(), ErrorCode::precondition_failed);
  EXPECT_EQ(outcome.received, 0U);
}

// What was just written is in the page cache (or, in a temporary folder in memory, never anywhere else).
TEST_F(FileStoreTest, WhatIsInMemoryIsReadAtOnceUnderTheSameConditions) {
  write("a", "0123456789");
  const ETag tag = store_->head("a")->info.etag;
  std::string into(4, '\0');
  ReadRequest request{.key = "a", .offset = 3, .destination = into, .if_match = tag, .expected_object_size = 10};
  const auto got = store_->read_at_once(request);
  if (!got) GTEST_FAIL() << "the temporary folder's file system cannot tell what it has in memory";
  EXPECT_EQ(into, "3456");
  EXPECT_EQ(got->object_size, 10U);
  EXPECT_EQ(got->etag, tag);

  // All else is left to start_read, which says why not.
  request.offset = 8;
  EXPECT_FALSE(store_->read_at_once(request)) << "it ends before";
  request.offset = 3;
  request.expected_object_size = 11;
  EXPECT_FALSE(store_->read_at_once(request));
  request.expected_object_size = 10;
  request.if_match.value = "\"another\"";
  EXPECT_FALSE(store_->read_at_once(request));
  request.if_match = tag;
  request.destination = {};
  EXPECT_FALSE(store_->read_at_once(request));
  request.destination = into;
  request.key = "none";
  EXPECT_FALSE(store_->read_at_once(request));
  write("a", "9876543210");
  ::timespec times[2] = {{1'000'000'000, 1}, {1'000'000'000, 1}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (root_ + "/a").c_str(), times, 0), 0);
  request.key = "a";
  EXPECT_FALSE(store_->read_at_once(request)) << "F01: it is another version";
}

// The same bytes put again within one tick of the kernel's clock are another version: no ETag comes twice.
TEST_F(FileStoreTest, EtagsOfQuickPutsDiffer) {
  std::set<std::string> tags;
  for (int i = 0; i < 200; ++i) tags.insert(store_->put({.key = "a", .body = "same"})->etag.value);
  EXPECT_EQ(tags.size(), 200U);
}

TEST_F(FileStoreTest, APutMakesFoldersAndLeavesNothingBehind) {
  ASSERT_TRUE(store_->put({.key = "x/y/z/a", .body = "1", .condition = PutCondition::if_absent}));
  EXPECT_EQ(bytes_of("x/y/z/a"), "1");
  const auto again = store_->put({.key = "x/y/z/a", .body = "2", .condition = PutCondition::if_absent});
  EXPECT_EQ(again.error().code(), ErrorCode::precondition_failed);
  EXPECT_EQ(bytes_of("x/y/z/a"), "1");
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(root_ + "/x/y/z")) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, ElementsAre("a"));
}

// Folders of plain output hold nothing but the output.
TEST_F(FileStoreTest, OnlyConditionalReplacementsLeaveALock) {
  ASSERT_TRUE(store_->put({.key = "out/a", .body = "1"}));
  ASSERT_TRUE(store_->put({.key = "out/a", .body = "2"}));
  ASSERT_TRUE(store_->put({.key = "out/b", .body = "1", .condition = PutCondition::if_absent}));
  ASSERT_TRUE(store_->remove("out/b"));
  EXPECT_FALSE(std::filesystem::exists(root_ + "/out/.millrace-lock"));
  const ETag tag = store_->head("out/a")->info.etag;
  ASSERT_TRUE(store_->put({.key = "out/a", .body = "3", .condition = PutCondition::if_match, .etag = tag}));
  EXPECT_TRUE(std::filesystem::exists(root_ + "/out/.millrace-lock"));
  EXPECT_THAT(list({.prefix = "out/"}), ElementsAre("out/a"));
  EXPECT_TRUE(store_->put({.key = "out/a", .body = "4"}));
  EXPECT_TRUE(store_->remove("out/a"));
}

TEST_F(FileStoreTest, A16_ANameIsAFileOrAFolder) {
  ASSERT_TRUE(store_->put({.key = "in/a", .body = "1"}));
  const auto below = store_->put({.key = "in/a/b", .body = "2"});
  EXPECT_EQ(below.error().code(), ErrorCode::invalid_request);
  EXPECT_THAT(below.error().message(), HasSubstr("either a file or a folder"));
  EXPECT_EQ(store_->put({.key = "in", .body = "3"}).error().code(), ErrorCode::invalid_request);
  EXPECT_EQ(store_->head("in").error().code(), ErrorCode::not_found);
  EXPECT_EQ(store_->head("in/a/b").error().code(), ErrorCode::not_found);
  EXPECT_EQ(bytes_of("in/a"), "1");
}

TEST_F(FileStoreTest, ALongNameIsRefusedAndNotRetried) {
  const auto put = store_->put({.key = std::string(256, 'n'), .body = "1"});
  EXPECT_TRUE(put.error().is_fatal());
  EXPECT_THAT(put.error().message(), HasSubstr("255 bytes"));
}

// One of many creators wins, over stores that share nothing but the folder.
TEST_F(FileStoreTest, AFileThatMayNotGrowThatLargeIsRefusedAndNotRetried) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{4096, before.rlim_max};
  ::signal(SIGXFSZ, SIG_IGN);  // as the program does
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto put = store_->put({.key = "out/large", .body = std::string(10'000, 'x')});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code(), ErrorCode::limit);
  EXPECT_FALSE(put.error().is_retryable());
  EXPECT_THAT(put.error().message(), HasSubstr("ulimit -f"));
}

TEST_F(FileStoreTest, CreateOnlyHasOneWinner) {
  Atomic<int> wins{0};
  {
    std::vector<Thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back("creator", [&, i] {
        const auto store = make_file_store({.root = root_, .read_threads = 1}, {});
        const std::string body = std::to_string(i);
        if (store->put({.key = "k", .body = body, .condition = PutCondition::if_absent})) ++wins;
      });
    }
  }
  EXPECT_EQ(wins.load(), 1);
}

// F12: read, change, write back under if_match: no increment is lost, whatever the interleaving.
TEST_F(FileStoreTest, F12_IfMatchLosesNoUpdate) {
  ASSERT_TRUE(store_->put({.key = "n", .body = "0"}));
  {
    std::vector<Thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back("counter", [&] {
        const auto store = make_file_store({.root = root_, .read_threads = 1}, {});
        for (int done = 0; done < 25;) {
          const auto now = store->get("n", 100);
          if (!now) continue;
          const std::string next = std::to_string(std::stoi(now->bytes) + 1);
          if (store->put({.key = "n", .body = next, .condition = PutCondition::if_match, .etag = now->etag})) ++done;
        }
      });
    }
  }
  EXPECT_EQ(bytes_of("n"), "100");
}

}  // namespace
}  // namespace millrace
