// SPDX-License-Identifier: Apache-2.0
// Goal: an upload of the file store leaves an object or nothing, and no parts. Method: what lies in the folder.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "store/file/file_store.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class FileUploadTest : public testing::Test {
 protected:
  FileUploadTest() {
    char name[] = "/tmp/millrace-file-upload-XXXXXX";
    root_ = ::mkdtemp(name);
    store_ = make_file_store({.root = root_}, {});
  }
  ~FileUploadTest() override { std::filesystem::remove_all(root_); }

  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(root_ + "/out")) found.insert(entry.path().filename());
    return found;
  }

  std::string root_;
  std::shared_ptr<ObjectStore> store_;
};

TEST_F(FileUploadTest, PartsAreFilesWithDotNamesUntilTheObjectIsMade) {
  const UploadId upload = store_->begin_upload({.key = "out/a"}).value();
  const PartResult parts[] = {store_->put_part(upload, 1, "one,").value(), store_->put_part(upload, 2, "two").value()};
  EXPECT_THAT(names(), SizeIs(3));
  for (const std::string& name : names()) EXPECT_TRUE(name.starts_with(".millrace-put-")) << name;
  EXPECT_THAT(store_->list({})->objects, IsEmpty());
  ASSERT_TRUE(store_->complete_upload(upload, parts));
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(FileUploadTest, AbortRemovesEveryFile) {
  const UploadId upload = store_->begin_upload({.key = "out/a"}).value();
  const UploadId other = store_->begin_upload({.key = "out/b"}).value();
  ASSERT_TRUE(store_->put_part(upload, 1, "x"));
  ASSERT_TRUE(store_->put_part(upload, 1, "y"));
  ASSERT_TRUE(store_->put_part(other, 1, "z"));
  ASSERT_TRUE(store_->abort_upload(upload));
  EXPECT_THAT(names(), SizeIs(2)) << "those of the other upload";
  ASSERT_TRUE(store_->abort_upload(other));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(FileUploadTest, ARefusedCompletionLeavesNoHalfObject) {
  const UploadId upload = store_->begin_upload({.key = "out/a"}).value();
  PartResult one = store_->put_part(upload, 1, "x").value();
  PartResult two = one;
  two.number = 2;
  const PartResult parts[] = {one, two};
  const auto refused = store_->complete_upload(upload, parts);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("is missing"));
  EXPECT_THAT(names(), SizeIs(2)) << "the upload and its part";
}

// An id is the caller's: it must not name files elsewhere.
TEST_F(FileUploadTest, AnIdThatIsNoneOfOursEndsNothing) {
  std::ofstream(root_ + "/precious.upload") << "key";
  for (const char* id : {"", "../precious", ".millrace-put-/../precious", "precious"}) {
    EXPECT_TRUE(store_->abort_upload({"out/a", id}));
    EXPECT_EQ(store_->put_part({"out/a", id}, 1, "x").error().code(), ErrorCode::not_found);
  }
  EXPECT_TRUE(std::filesystem::exists(root_ + "/precious.upload"));
}

TEST_F(FileUploadTest, WhatADeadProcessLeftIsRemovedByTheNextUpload) {
  const UploadId upload = store_->begin_upload({.key = "out/a"}).value();
  ASSERT_TRUE(store_->abort_upload(upload));
  // As if made by a process that is gone: the pid stands between the last two dashes.
  std::string left = upload.id;
  const auto random = left.rfind('-');
  const auto pid = left.rfind('-', random - 1);
  left.replace(pid + 1, random - pid - 1, "7fffffff");
  for (const char* tail : {".upload", ".1", ".2"}) std::ofstream(root_ + "/out/" + left + tail) << "x";
  const auto next = make_file_store({.root = root_}, {});
  const UploadId fresh = next->begin_upload({.key = "out/b"}).value();
  EXPECT_THAT(names(), ElementsAre(fresh.id + ".upload"));
}

TEST_F(FileUploadTest, SettingsOfAnObjectStoreAreRefusedByName) {
  ObjectSettings settings;
  settings.storage_class = "GLACIER";
  settings.encryption = Encryption::aes256;
  settings.acl = "private";
  settings.tags = {{"a", "b"}};
  for (const auto& error : {store_->begin_upload({.key = "out/a", .settings = settings}).error(),
                            store_->put({.key = "out/a", .body = "x", .settings = settings}).error()}) {
    EXPECT_EQ(error.code(), ErrorCode::not_supported);
    EXPECT_THAT(error.message(), HasSubstr("storage_class, sse, acl, tags"));
  }
  EXPECT_FALSE(std::filesystem::exists(root_ + "/out"));
}

}  // namespace
}  // namespace millrace
