// SPDX-License-Identifier: Apache-2.0
// Goal: an upload of the file store leaves an object or nothing, and no parts. Method: what lies in the folder.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "store/file/file_path.h"
#include "store/file/file_put.h"
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
  // As if made by a process that is gone: when it began stands between the last two dashes.
  std::string left = upload.id;
  const auto random = left.rfind('-');
  const auto start = left.rfind('-', random - 1);
  left.replace(start + 1, random - start - 1, "1");
  for (const char* tail : {".upload", ".1", ".2"}) std::ofstream(root_ + "/out/" + left + tail) << "x";
  const auto next = make_file_store({.root = root_}, {});
  const UploadId fresh = next->begin_upload({.key = "out/b"}).value();
  EXPECT_THAT(names(), ElementsAre(fresh.id + ".upload"));
}

TEST_F(FileUploadTest, WhatAnAbortCannotRemoveIsAnError) {
  const UploadId upload = store_->begin_upload({.key = "out/a"}).value();
  ASSERT_TRUE(store_->put_part(upload, 1, "x"));
  // No file: unlink() refuses it, also to root.
  std::filesystem::create_directory(root_ + "/out/" + upload.id + ".2");
  EXPECT_FALSE(store_->abort_upload(upload));
  std::filesystem::remove(root_ + "/out/" + upload.id + ".2");
  EXPECT_TRUE(store_->abort_upload(upload));
  EXPECT_THAT(names(), IsEmpty()) << "the second one removes what the first has not come to";
}

TEST_F(FileUploadTest, AbortTakesWhatCameBehindAnEarlierOne) {
  const UploadId upload = store_->begin_upload({.key = "out/a"}).value();
  ASSERT_TRUE(store_->abort_upload(upload));
  std::ofstream(root_ + "/out/" + upload.id + ".1") << "late";
  ASSERT_TRUE(store_->abort_upload(upload));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(FileUploadTest, ACompletionIsCutShort) {
  std::filesystem::create_directory(root_ + "/out");
  std::ofstream(root_ + "/out/part") << "bytes";
  struct stat status{};
  ASSERT_EQ(::stat((root_ + "/out/part").c_str(), &status), 0);
  const std::string path = root_ + "/out/a";
  const Atomic<bool> cancelled{true};
  FilePut put{path, "", PutCondition::none, {}, ".millrace-put-x", 0, {{root_ + "/out/part", tag_of(status)}}};
  put.cancelled = &cancelled;
  EXPECT_EQ(put_file(put).error().code(), ErrorCode::cancelled);
  EXPECT_THAT(names(), ElementsAre("part"));
}

TEST_F(FileUploadTest, APartWithoutTheChecksumOfItsUploadIsRefused) {
  const UploadId upload = store_->begin_upload({.key = "out/a", .checksum = ChecksumKind::crc32c}).value();
  PartResult parts[] = {store_->put_part(upload, 1, "123456789").value()};
  parts[0].checksum.clear();
  EXPECT_EQ(store_->complete_upload(upload, parts).error().code(), ErrorCode::invalid_request);
  parts[0].checksum = "4waSgw==";  // the check value of CRC-32C
  EXPECT_TRUE(store_->complete_upload(upload, parts));
}

// A list that leaves one out would leave it lying.
TEST_F(FileUploadTest, TheListGoesThroughLinksAndFailsWhereItCannotLook) {
  const std::string elsewhere = root_ + "-elsewhere";
  std::filesystem::create_directory(elsewhere);
  std::filesystem::create_directory_symlink(elsewhere, root_ + "/linked");
  std::filesystem::create_directory_symlink(root_, root_ + "/loop");
  std::filesystem::create_symlink(root_ + "/nowhere", root_ + "/dangling");
  const UploadId linked = store_->begin_upload({.key = "linked/a"}).value();
  const UploadId plain = store_->begin_upload({.key = "out/deep/b"}).value();
  const auto page = store_->list_uploads({});
  ASSERT_TRUE(page) << page.error().message();
  ASSERT_EQ(page->uploads.size(), 2U);
  EXPECT_EQ(page->uploads[0].upload, linked);
  EXPECT_EQ(page->uploads[1].upload, plain);
  EXPECT_THAT(store_->list_uploads({.prefix = "out/d"})->uploads, SizeIs(1));
  EXPECT_THAT(store_->list_uploads({.prefix = "../"})->uploads, IsEmpty());
  EXPECT_THAT(store_->list_uploads({.prefix = "none/"})->uploads, IsEmpty());
  std::filesystem::create_symlink("ring", root_ + "/out/ring");  // cannot be looked at, not even by root
  EXPECT_FALSE(store_->list_uploads({.prefix = "out/"}));
  // What cannot hold the prefix is not looked at: a lost+found beside it hides nothing.
  EXPECT_THAT(store_->list_uploads({.prefix = "link"})->uploads, SizeIs(1));
  EXPECT_THAT(store_->list_uploads({.prefix = "out/d"})->uploads, SizeIs(1));
  std::filesystem::remove_all(elsewhere);
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
