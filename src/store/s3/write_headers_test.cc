// SPDX-License-Identifier: Apache-2.0
#include "store/s3/write_headers.h"

#include <gmock/gmock.h>

namespace millrace::s3 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

TEST(WriteHeaders, NothingIsAskedForUnasked) { EXPECT_THAT(describing_headers({"", "", {}, {}}), IsEmpty()); }

TEST(WriteHeaders, EverythingThatCanBeAskedFor) {
  ObjectSettings settings;
  settings.storage_class = "STANDARD_IA";
  settings.encryption = Encryption::kms;
  settings.kms_key_id = "alias/k";
  settings.bucket_key = true;
  settings.acl = "bucket-owner-full-control";
  settings.tags = {{"team", "a&b=c d"}, {"p/q", "\xc3\xa9"}};
  EXPECT_THAT(describing_headers({"x/y", "gzip", {{"sha", "1"}}, settings}),
              ElementsAre(Pair("Content-Type", "x/y"), Pair("Content-Encoding", "gzip"), Pair("x-amz-meta-sha", "1"),
                          Pair("x-amz-storage-class", "STANDARD_IA"), Pair("x-amz-server-side-encryption", "aws:kms"),
                          Pair("x-amz-server-side-encryption-aws-kms-key-id", "alias/k"),
                          Pair("x-amz-server-side-encryption-bucket-key-enabled", "true"),
                          Pair("x-amz-acl", "bucket-owner-full-control"),
                          Pair("x-amz-tagging", "team=a%26b%3Dc%20d&p%2Fq=%C3%A9")));
}

TEST(WriteHeaders, KeysOfTheStoreEncrypt) {
  ObjectSettings settings;
  settings.encryption = Encryption::aes256;
  EXPECT_THAT(describing_headers({"", "", {}, settings}), ElementsAre(Pair("x-amz-server-side-encryption", "AES256")));
}

TEST(WriteHeaders, ALineIsNeverBroken) {
  EXPECT_EQ(check_write("k", {{"x-amz-acl", "private\r\nx: y"}}, "writing").error().code(), ErrorCode::invalid_request);
  EXPECT_EQ(check_write("", {}, "writing").error().code(), ErrorCode::invalid_request);
  EXPECT_TRUE(check_write("k", {{"x-amz-acl", "private"}}, "writing"));
}

TEST(WriteHeaders, AnotherChecksumIsABadAnswer) {
  HttpHead head;
  EXPECT_TRUE(check_checksum(head, ChecksumKind::crc32, "y/Q5Jg==", "writing k"));
  head.headers = {{"x-amz-checksum-crc32", "y/Q5Jg=="}, {"x-amz-checksum-sha256", "other"}};
  EXPECT_TRUE(check_checksum(head, ChecksumKind::crc32, "y/Q5Jg==", "writing k"));
  EXPECT_TRUE(check_checksum(head, ChecksumKind::none, "", "writing k"));
  const auto differs = check_checksum(head, ChecksumKind::crc32, "AAAAAA==", "writing k");
  ASSERT_FALSE(differs);
  EXPECT_EQ(differs.error().code(), ErrorCode::bad_response);
  EXPECT_TRUE(differs.error().is_retryable());
  EXPECT_THAT(differs.error().message(), HasSubstr("y/Q5Jg=="));
}

TEST(WriteHeaders, H06_ARefusalNamesWhatWasAskedFor) {
  ObjectSettings settings;
  settings.storage_class = "GLACIER_IR";
  const Error refusal = Error::fatal(ErrorCode::not_supported, "writing k: 501").with("status", "501");
  const Error told = with_asked(refusal, settings, ChecksumKind::crc64nvme);
  EXPECT_THAT(told.message(), HasSubstr("storage_class, checksum"));
  EXPECT_EQ(told.code(), ErrorCode::not_supported);
  EXPECT_EQ(told.context(), refusal.context());
  EXPECT_EQ(with_asked(refusal, {}, ChecksumKind::none).message(), refusal.message());
  const Error other = Error::retryable(ErrorCode::throttled, "writing k: 503");
  EXPECT_THAT(with_asked(other, settings, ChecksumKind::none).message(), Not(HasSubstr("storage_class")));
}

}  // namespace
}  // namespace millrace::s3
