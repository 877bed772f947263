// SPDX-License-Identifier: Apache-2.0
// Goal: the server's signature check agrees with AWS's published examples (Amazon S3 API reference, "Signature
// Calculations for the Authorization Header"), so that it can judge the client. Method: the four requests of that page,
// typed in, with the signatures printed there.
#include "tests/s3_fault_server/sigv4_check.h"

#include <gtest/gtest.h>

namespace millrace::testing {
namespace {

constexpr std::string_view kSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
constexpr std::string_view kEmptySha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

HttpRequest example(std::string method, std::string target, HttpHeaders more, std::string_view sha256 = kEmptySha256) {
  HttpRequest request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.headers = std::move(more);
  request.headers.emplace_back("host", "examplebucket.s3.amazonaws.com");
  request.headers.emplace_back("x-amz-content-sha256", sha256);
  request.headers.emplace_back("x-amz-date", "20130524T000000Z");
  return request;
}

std::string signature(const HttpRequest& request, std::string_view signed_headers) {
  const auto header = parse_sigv4_header(
      "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=" +
      std::string(signed_headers) + ", Signature=0");
  return header ? sigv4_signature(request, *header, kSecret) : "no header";
}

TEST(Sigv4Check, GetObjectWithRange) {
  EXPECT_EQ(
      signature(example("GET", "/test.txt", {{"range", "bytes=0-9"}}), "host;range;x-amz-content-sha256;x-amz-date"),
      "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(Sigv4Check, PutObjectWithBody) {
  const std::string sha256 = sha256_hex("Welcome to Amazon S3.");
  EXPECT_EQ(sha256, "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
  EXPECT_EQ(
      signature(
          example("PUT", "/test%24file.text",
                  {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}}, sha256),
          "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class"),
      "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(Sigv4Check, QueryNameWithoutValue) {
  EXPECT_EQ(signature(example("GET", "/?lifecycle", {}), "host;x-amz-content-sha256;x-amz-date"),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST(Sigv4Check, QueryIsSorted) {
  EXPECT_EQ(signature(example("GET", "/?prefix=J&max-keys=2", {}), "host;x-amz-content-sha256;x-amz-date"),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(Sigv4Check, PathIsNeitherNormalisedNorEncodedTwice) {
  const auto canonical = canonical_request(example("GET", "/b/a%20b//%2525/..", {}), "host");
  EXPECT_EQ(canonical.substr(0, canonical.find('\n', 4)), "GET\n/b/a%20b//%2525/..");
}

TEST(Sigv4Check, HeaderOfAnotherSchemeIsNone) {
  EXPECT_FALSE(parse_sigv4_header("AWS AKIDEXAMPLE:frJIUN8DYpKDtOLCwo//yllqDzg="));
  EXPECT_FALSE(parse_sigv4_header("AWS4-HMAC-SHA256 Credential=a/b/c, SignedHeaders=host, Signature=1"));
}

TEST(Sigv4Check, AmzDateIsSecondsSinceTheEpoch) {
  EXPECT_EQ(parse_amz_date("20130524T000000Z"), 1'369'353'600'000'000);  // date -u -d 2013-05-24 +%s
  EXPECT_FALSE(parse_amz_date("20130532T000000Z"));
  EXPECT_FALSE(parse_amz_date("2013-05-24T00:00"));
}

}  // namespace
}  // namespace millrace::testing
