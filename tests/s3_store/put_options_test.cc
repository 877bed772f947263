// SPDX-License-Identifier: Apache-2.0
// Goal: what a put asks for beside its bytes reaches the server in S3's words, in one signed PUT, and what the answer
// says of a checksum is compared. Method: the fault server, which recomputes signature and checksum of each request.
#include <gtest/gtest.h>

#include "tests/s3_store/fixture.h"

namespace millrace::s3 {
namespace {

using testing::Fixture;

TEST(S3StorePutOptions, AllInOnePut) {
  Fixture f;
  ObjectSettings settings;
  settings.storage_class = "STANDARD_IA";
  settings.encryption = Encryption::kms;
  settings.kms_key_id = "arn:aws:kms:us-east-1:111122223333:key/1234";
  settings.bucket_key = true;
  settings.acl = "bucket-owner-full-control";
  settings.tags = {{"team", "data & logs"}};
  const auto put = f.store->put({.key = "k",
                                 .body = "123456789",
                                 .condition = PutCondition::if_absent,
                                 .content_type = "application/x-ndjson",
                                 .settings = settings,
                                 .checksum = ChecksumKind::crc64nvme});
  ASSERT_TRUE(put) << put.error().describe();
  EXPECT_EQ(put->checksum, "rosUhgp5mIg=");  // the check value of CRC-64/NVME, in base64
  const auto requests = f.server->requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].operation, "PutObject");
  const auto& http = requests[0].http;
  EXPECT_EQ(http.header("x-amz-storage-class"), "STANDARD_IA");
  EXPECT_EQ(http.header("x-amz-server-side-encryption"), "aws:kms");
  EXPECT_EQ(http.header("x-amz-server-side-encryption-aws-kms-key-id"), settings.kms_key_id);
  EXPECT_EQ(http.header("x-amz-server-side-encryption-bucket-key-enabled"), "true");
  EXPECT_EQ(http.header("x-amz-acl"), "bucket-owner-full-control");
  EXPECT_EQ(http.header("x-amz-tagging"), "team=data%20%26%20logs");
  EXPECT_EQ(http.header("x-amz-checksum-crc64nvme"), "rosUhgp5mIg=");
  const auto head = f.store->head("k");
  ASSERT_TRUE(head) << head.error().describe();
  EXPECT_EQ(head->info.storage_class, "STANDARD_IA");
  EXPECT_EQ(head->content_type, "application/x-ndjson");
}

TEST(S3StorePutOptions, NothingMoreIsSentByDefault) {
  Fixture f;
  ASSERT_TRUE(f.store->put({.key = "k", .body = "x"}));
  const auto requests = f.server->requests();
  ASSERT_EQ(requests.size(), 1U);
  for (const auto& [name, value] : requests[0].http.headers) {
    if (!name.starts_with("x-amz-")) continue;
    EXPECT_TRUE(name == "x-amz-date" || name == "x-amz-content-sha256") << name;
  }
}

TEST(S3StorePutOptions, EveryChecksumIsAcceptedAndCompared) {
  for (const auto kind : {ChecksumKind::crc32, ChecksumKind::crc32c, ChecksumKind::crc64nvme, ChecksumKind::sha256}) {
    Fixture f;
    EXPECT_TRUE(f.store->put({.key = "k", .body = testing::patterned(100'000), .checksum = kind})) << to_string(kind);
    EXPECT_TRUE(f.store->put({.key = "empty", .body = "", .checksum = kind})) << to_string(kind);
    f.server->add_fault("op=PutObject times=1 header='x-amz-checksum-" + std::string(to_string(kind)) + ": AAAAAQ=='");
    const auto other = f.store->put({.key = "k", .body = "123456789", .checksum = kind});
    ASSERT_FALSE(other) << to_string(kind);
    EXPECT_EQ(other.error().code(), ErrorCode::bad_response);
    EXPECT_TRUE(other.error().is_retryable());
  }
}

// A plain put is tried again. Behind a condition the next try would be refused, and the wrong bytes taken for ours.
TEST(S3StorePutOptions, OtherBytesBehindAConditionAreTheEnd) {
  for (const PutCondition condition : {PutCondition::if_absent, PutCondition::if_match}) {
    Fixture f;
    ETag etag;
    if (condition == PutCondition::if_match) etag = f.store->put({.key = "k", .body = "before"}).value().etag;
    f.server->add_fault("op=PutObject times=1 header='x-amz-checksum-crc32c: AAAAAQ=='");
    const auto put = f.store->put(
        {.key = "k", .body = "123456789", .condition = condition, .etag = etag, .checksum = ChecksumKind::crc32c});
    ASSERT_FALSE(put);
    EXPECT_NE(put.error().message().find("remove it before the next run"), std::string::npos) << put.error().message();
    EXPECT_EQ(put.error().code(), ErrorCode::corrupt) << put.error().describe();
    EXPECT_TRUE(put.error().is_fatal());
  }
}

TEST(S3StorePutOptions, H06_AStoreThatRefusesAChecksumIsToldOfWithTheOption) {
  Fixture f({.refuse_integrity_headers = true});
  const auto put = f.store->put({.key = "k", .body = "x", .checksum = ChecksumKind::crc32c});
  ASSERT_FALSE(put);
  EXPECT_TRUE(put.error().is_fatal()) << put.error().describe();
  EXPECT_NE(put.error().message().find("asked for checksum"), std::string::npos) << put.error().message();
  EXPECT_EQ(f.server->requests().size(), 1U);
}

TEST(S3StorePutOptions, ABodyThatChangesOnTheWayIsRefusedByTheServer) {
  Fixture f;
  f.server->add_fault("op=PutObject times=1 status=400 code=BadDigest");
  const auto put = f.store->put({.key = "k", .body = "x", .checksum = ChecksumKind::crc32c});
  ASSERT_FALSE(put);
  EXPECT_TRUE(put.error().is_retryable()) << put.error().describe();
}

}  // namespace
}  // namespace millrace::s3
