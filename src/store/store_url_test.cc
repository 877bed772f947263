// SPDX-License-Identifier: Apache-2.0
#include "millrace/store/store_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace millrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string why_not(std::string_view url) {
  auto parsed = StoreUrl::parse(url);
  if (parsed) return "accepted";
  EXPECT_EQ(parsed.error().code(), ErrorCode::config);
  return parsed.error().message();
}

TEST(StoreUrl, TakesApartS3) {
  const auto url = StoreUrl::parse("s3://my-bucket.v1/exports/2026-07/");
  ASSERT_TRUE(url) << url.error().message();
  EXPECT_EQ(url->scheme, "s3");
  EXPECT_EQ(url->bucket, "my-bucket.v1");
  EXPECT_EQ(url->key, "exports/2026-07/");
  EXPECT_EQ(url->to_string(), "s3://my-bucket.v1/exports/2026-07/");
}

TEST(StoreUrl, ABucketAloneHasAnEmptyKey) {
  EXPECT_EQ(StoreUrl::parse("s3://b")->key, "");
  EXPECT_EQ(StoreUrl::parse("s3://b/")->key, "");
}

// A01 A03 A05 A08 A11 A14: nothing of a key is decoded, trimmed, collapsed or normalised.
TEST(StoreUrl, A01_EveryByteOfTheKeyIsKept) {
  for (const std::string key :
       {"in/a b.ndjson", "in/a%20b", "in/x%3Ay", "in/[x]{y}", "in/100%", "in/a&b;c,d", "in/q?v#f", "in//b", "/lead",
        "///", "in/../x", "in/with space ", "in/\t", "in/\xC3\xA9", "in/e\xCC\x81", "in/a@b:c", "data/v1", "\\x"}) {
    const auto url = StoreUrl::parse("s3://b/" + key);
    ASSERT_TRUE(url) << key;
    EXPECT_EQ(url->key, key);
    EXPECT_EQ(url->to_string(), "s3://b/" + key);
  }
}

TEST(StoreUrl, TakesApartFile) {
  const auto url = StoreUrl::parse("file:///data/in put/a%20b?#/");
  ASSERT_TRUE(url) << url.error().message();
  EXPECT_EQ(url->scheme, "file");
  EXPECT_EQ(url->bucket, "");
  EXPECT_EQ(url->key, "data/in put/a%20b?#/");
  EXPECT_EQ(url->to_string(), "file:///data/in put/a%20b?#/");
  EXPECT_EQ(StoreUrl::parse("file:///")->key, "");
}

TEST(StoreUrl, OnlyTheSchemeIsWithoutCase) {
  EXPECT_EQ(StoreUrl::parse("S3://Bucket/Key")->to_string(), "s3://Bucket/Key");
  EXPECT_EQ(StoreUrl::parse("File:///X")->to_string(), "file:///X");
}

TEST(StoreUrl, SameStore) {
  EXPECT_TRUE(StoreUrl::parse("s3://b/x")->same_store(*StoreUrl::parse("s3://b/y")));
  EXPECT_FALSE(StoreUrl::parse("s3://b/x")->same_store(*StoreUrl::parse("s3://c/x")));
  EXPECT_FALSE(StoreUrl::parse("s3://b/x")->same_store(*StoreUrl::parse("file:///x")));
  EXPECT_TRUE(StoreUrl::parse("file:///a")->same_store(*StoreUrl::parse("file:///b")));
}

TEST(StoreUrl, AFileUrlIsAbsoluteAndPlain) {
  EXPECT_THAT(why_not("file://data/in"), HasSubstr("file:///data/in/"));
  EXPECT_THAT(why_not("file:/data/in"), HasSubstr("is written file:///data/in"));
  EXPECT_THAT(why_not("./data"), HasSubstr("is written file://" + std::filesystem::current_path().string() + "/data"));
  EXPECT_THAT(why_not("/data"), AllOf(HasSubstr("is not a URL"), HasSubstr("is written file:///data")));
  EXPECT_THAT(why_not("file:///data/../etc"), HasSubstr("'..'"));
  EXPECT_THAT(why_not("file:///data/./x"), HasSubstr("'.'"));
  EXPECT_THAT(why_not("file:///data//x"), HasSubstr("segment ''"));
  EXPECT_THAT(why_not("file:////data"), HasSubstr("segment ''"));
  EXPECT_THAT(why_not(std::string_view("file:///a\0b", 11)), HasSubstr("NUL"));
}

TEST(StoreUrl, OtherSchemesGetAdvice) {
  EXPECT_THAT(why_not("memory://x"), HasSubstr("file:///tmp/"));
  EXPECT_THAT(why_not("http://127.0.0.1:9000/b"), HasSubstr("store.endpoint"));
  EXPECT_THAT(why_not("https://b.s3.amazonaws.com/x"), HasSubstr("s3://bucket/prefix"));
  EXPECT_THAT(why_not("gs://b/x"), HasSubstr("storage.googleapis.com"));
  EXPECT_THAT(why_not("s3a://b/x"), HasSubstr("write s3://"));
  EXPECT_THAT(why_not("abfss://c@a.dfs.core.windows.net/x"), HasSubstr("Azure"));
  EXPECT_THAT(why_not("ftp://h/x"), AllOf(HasSubstr("'ftp'"), HasSubstr("file:///")));
  EXPECT_THAT(why_not(""), HasSubstr("s3://bucket/prefix"));
}

TEST(StoreUrl, BadBuckets) {
  EXPECT_THAT(why_not("s3://"), HasSubstr("bucket is missing"));
  EXPECT_THAT(why_not("s3:///key"), HasSubstr("bucket is missing"));
  EXPECT_THAT(why_not("s3://127.0.0.1:9000/b/k"), HasSubstr("store.endpoint"));
  EXPECT_THAT(why_not("s3://a b/k"), HasSubstr("'a b'"));
  EXPECT_THAT(why_not("s3://a?b/k"), HasSubstr("'a?b'"));
  EXPECT_THAT(why_not("s3://" + std::string(256, 'a')), HasSubstr("255"));
}

// Secrets of an url reach no message, whatever else is wrong with it.
TEST(StoreUrl, CredentialsAreRefusedAndNotRepeated) {
  EXPECT_THAT(why_not("s3://AKIA:s3cr3t@b/k"), AllOf(HasSubstr("store.access_key_id"), Not(HasSubstr("s3cr3t"))));
  EXPECT_THAT(why_not("s3://AKIA:s3@cr3t@b/k"), AllOf(Not(HasSubstr("cr3t@b/k")), Not(HasSubstr("AKIA"))));
  EXPECT_THAT(why_not("s3://AKIA:s3/cr3t@b/k"), AllOf(HasSubstr("***@b/k"), Not(HasSubstr("cr3t"))));
  EXPECT_THAT(why_not("https://AKIA:s3cr3t@h/b/k"), Not(HasSubstr("s3cr3t")));
  EXPECT_THAT(why_not("https://b.s3.amazonaws.com/k?X-Amz-Signature=s3cr3t&x=1"), Not(HasSubstr("s3cr3t")));
  EXPECT_THAT(why_not("file://AKIA:s3cr3t@h/b/k"), Not(HasSubstr("s3cr3t")));
  // A password with the characters that end other parts of a url.
  for (const char* url : {"https://AKIA:s3cr3t?x@h/b/k", "https://AKIA:x?s3cr3t@h/b/k", "https://AKIA:s3cr3t#x@h/b/k",
                          "https://AKIA:x@h/b/k?sig=s3cr3t", "https://h/b/k?sig=x@s3cr3t", "s3://AKIA:s3cr3t?x@b/k",
                          "HTTPS://b.s3.amazonaws.com/k?X-Amz-Signature=s3cr3t", "s3a://AKIA:s3cr3t?x@b/k",
                          "ftp://h/k?token=s3cr3t", "AKIA:s3cr3t@b/k", "https:/AKIA:s3cr3t@b/k",
                          "b.s3.amazonaws.com/k?X-Amz-Signature=s3cr3t", "https:/h/k?sig=s3cr3t"}) {
    EXPECT_THAT(why_not(url), Not(HasSubstr("s3cr3t"))) << url;
  }
}

}  // namespace
}  // namespace millrace
