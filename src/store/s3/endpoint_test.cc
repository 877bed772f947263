// SPDX-License-Identifier: Apache-2.0
#include "store/s3/endpoint.h"

#include <gtest/gtest.h>

namespace millrace::s3 {
namespace {

Endpoint must(EndpointOptions options) {
  if (options.bucket.empty()) options.bucket = "bucket";
  if (options.region.empty()) options.region = "us-east-1";
  auto made = Endpoint::make(options);
  EXPECT_TRUE(made) << made.error().message();
  return made ? *made : Endpoint();
}

std::string refusal(EndpointOptions options) {
  options.bucket = options.bucket.empty() ? "bucket" : options.bucket;
  const auto made = Endpoint::make(options);
  EXPECT_FALSE(made);
  if (made) return "";
  EXPECT_EQ(made.error().code(), ErrorCode::config);
  return made.error().message();
}

std::string url(const Endpoint& endpoint, std::string_view key) { return endpoint.url(endpoint.target(key, "")); }

TEST(Endpoint, AwsIsVirtualHostedWithoutAnEndpoint) {
  const auto endpoint = must({.region = "eu-west-2"});
  EXPECT_EQ(url(endpoint, "a b"), "https://bucket.s3.eu-west-2.amazonaws.com/a%20b");
  EXPECT_EQ(endpoint.host(), "bucket.s3.eu-west-2.amazonaws.com");
  EXPECT_EQ(must({.region = "cn-north-1"}).host(), "bucket.s3.cn-north-1.amazonaws.com.cn");
}

TEST(Endpoint, B01_ASlashAtTheEndChangesNothingTwoAreRefused) {
  EXPECT_EQ(url(must({.endpoint = "http://127.0.0.1:9000"}), "k"), "http://127.0.0.1:9000/bucket/k");
  EXPECT_EQ(url(must({.endpoint = "http://127.0.0.1:9000/"}), "k"), "http://127.0.0.1:9000/bucket/k");
  EXPECT_NE(refusal({.endpoint = "http://127.0.0.1:9000//"}).find("'//'"), std::string::npos);
  EXPECT_NE(refusal({.endpoint = "http://127.0.0.1:9000/a//b"}).find("'//'"), std::string::npos);
}

TEST(Endpoint, B02_APathIsKeptInFrontOfTheBucket) {
  const auto endpoint = must({.endpoint = "http://127.0.0.1:9000/gw/s3/"});
  EXPECT_EQ(endpoint.target("in//k", "a=1"), "/gw/s3/bucket/in//k?a=1");
  EXPECT_EQ(endpoint.target("", ""), "/gw/s3/bucket");
  EXPECT_NE(refusal({.endpoint = "http://127.0.0.1/a b"}).find("path"), std::string::npos);
}

TEST(Endpoint, B04_DottedBucketsAndAddressesGoIntoThePath) {
  EXPECT_EQ(url(must({.bucket = "my.bucket.v1"}), "k"), "https://s3.us-east-1.amazonaws.com/my.bucket.v1/k");
  EXPECT_EQ(url(must({.bucket = "My_Bucket"}), "k"), "https://s3.us-east-1.amazonaws.com/My_Bucket/k");
  EXPECT_EQ(url(must({.endpoint = "https://[::1]:9000"}), "k"), "https://[::1]:9000/bucket/k");
  EXPECT_NE(refusal({.bucket = "my.bucket", .endpoint = "https://s3.test", .virtual_hosted = true}).find("certificate"),
            std::string::npos);
  EXPECT_NE(refusal({.endpoint = "https://10.0.0.1", .virtual_hosted = true}).find("no sub-domains"),
            std::string::npos);
}

TEST(Endpoint, VirtualHostedOnRequest) {
  const auto endpoint = must({.endpoint = "http://s3.test:9000", .allow_http = true, .virtual_hosted = true});
  EXPECT_EQ(url(endpoint, "/leading"), "http://bucket.s3.test:9000//leading");
  EXPECT_EQ(endpoint.host(), "bucket.s3.test:9000");
  EXPECT_EQ(url(must({.bucket = "a.b", .endpoint = "http://s3.test", .allow_http = true, .virtual_hosted = true}), "k"),
            "http://a.b.s3.test/k");
}

TEST(Endpoint, TheDefaultPortIsNotPartOfTheHost) {
  EXPECT_EQ(must({.endpoint = "https://s3.test:443"}).host(), "s3.test");
  EXPECT_EQ(must({.endpoint = "http://localhost:80"}).host(), "localhost");
  EXPECT_EQ(must({.endpoint = "https://s3.test:80"}).host(), "s3.test:80");
  EXPECT_EQ(must({.endpoint = "https://[::1]:443"}).host(), "[::1]");
}

TEST(Endpoint, HttpNeedsLeaveBeyondThisMachine) {
  EXPECT_NE(refusal({.endpoint = "http://minio:9000"}).find("allow_http"), std::string::npos);
  EXPECT_NE(refusal({.endpoint = "http://127.0.0.1.evil.test"}).find("allow_http"), std::string::npos);
  EXPECT_FALSE(must({.endpoint = "http://minio:9000", .allow_http = true}).loopback());
  EXPECT_TRUE(must({.endpoint = "http://127.8.9.1:9000"}).loopback());
  EXPECT_TRUE(must({.endpoint = "http://localhost:9000"}).loopback());
  EXPECT_TRUE(must({.endpoint = "http://[::1]:9000"}).loopback());
}

TEST(Endpoint, WhatIsNoEndpointIsRefused) {
  for (const char* text :
       {"127.0.0.1:9000", "ftp://s3.test", "https://", "https://s3.test:port", "https://s3.test:0",
        "https://s3.test:70000", "https://s3.test?x=1", "https://s3.test/#a", "https://[::1", "https://a b"}) {
    EXPECT_NE(refusal({.endpoint = text}), "") << text;
  }
  const std::string secret = refusal({.endpoint = "https://user:secret@s3.test"});
  EXPECT_EQ(secret.find("secret"), std::string::npos) << secret;
}

TEST(Endpoint, B03_OnlyAwsHostsCarryTheRegion) {
  EXPECT_EQ(must({}).in_region("eu-west-1").host(), "bucket.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(must({.bucket = "a.b"}).in_region("eu-west-1").host(), "s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(must({.endpoint = "https://s3.test"}).in_region("eu-west-1").host(), "s3.test");
}

}  // namespace
}  // namespace millrace::s3
