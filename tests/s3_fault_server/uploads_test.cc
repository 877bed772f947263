// SPDX-License-Identifier: Apache-2.0
// Goal: uploads in parts follow S3's rules, so that a client that passes here passes there. Method: libcurl's easy
// interface as the client, with the XML written out.
#include <curl/curl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/s3_fault_server/fault_server.h"

namespace millrace::testing {
namespace {

struct Reply {
  long status = 0;
  std::string body;
};

std::size_t append(char* data, std::size_t size, std::size_t count, void* to) {
  static_cast<std::string*>(to)->append(data, size * count);
  return size * count;
}

Reply send(const char* method, const std::string& url, const std::string& body = {}, const char* header = nullptr) {
  CURL* curl = curl_easy_init();
  Reply reply;
  curl_slist* list = curl_slist_append(nullptr, "Content-Type:");
  if (header != nullptr) list = curl_slist_append(list, header);
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.c_str());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &reply.body);
  curl_easy_perform(curl);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply.status);
  curl_slist_free_all(list);
  curl_easy_cleanup(curl);
  return reply;
}

// md5sum of "aa", "bb" and "c".
constexpr const char* kAa = "&quot;4124bc0a9335c27f086f24ba207a4912&quot;";
constexpr const char* kBb = "&quot;21ad0bd836b90d08f4cf640b4c298e7c&quot;";
constexpr const char* kC = "\"4a8a08f09d37b73795649038408b5f33\"";

std::string named(std::initializer_list<std::pair<int, const char*>> parts) {
  std::string xml = "<CompleteMultipartUpload>";
  for (const auto& [number, etag] : parts) {
    xml += fmt::format("<Part><ETag>{}</ETag><PartNumber>{}</PartNumber></Part>", etag, number);
  }
  return xml + "</CompleteMultipartUpload>";
}

struct Server {
  explicit Server(PartRules rules = {}) {
    FaultServerOptions options;
    options.check_signatures = false;
    options.parts = rules;
    server = FaultServer::start(options).value();
    server->create_bucket("b");
    const Reply begun = send("POST", server->endpoint() + "/b/k?uploads=");
    EXPECT_NE(begun.body.find("<UploadId>up+load/0001==</UploadId>"), std::string::npos) << begun.body;
  }
  [[nodiscard]] std::string url(const std::string& query = {}) const {
    return server->endpoint() + "/b/k?" + query + "uploadId=up%2Bload%2F0001%3D%3D";
  }
  [[nodiscard]] Reply part(int number, const std::string& body) const {
    return send("PUT", url(fmt::format("partNumber={}&", number)), body);
  }
  [[nodiscard]] Reply complete(std::initializer_list<std::pair<int, const char*>> parts,
                               const char* header = nullptr) const {
    return send("POST", url(), named(parts), header);
  }
  std::unique_ptr<FaultServer> server;
};

TEST(FaultServerUploads, PartsBecomeAnObjectAtTheEnd) {
  const Server s;
  EXPECT_EQ(s.part(2, "bb").status, 200);
  EXPECT_EQ(s.part(1, "aa").status, 200);
  EXPECT_EQ(s.part(3, "c").status, 200);
  EXPECT_FALSE(s.server->object("b", "k"));
  const Reply done = s.complete({{1, kAa}, {2, kBb}, {3, kC}});
  EXPECT_EQ(done.status, 200) << done.body;
  // By Python's hashlib: MD5 of the three digests, one behind the other.
  EXPECT_NE(done.body.find("<ETag>&quot;93562f15edfd272afd43679e3fdc7f1c-3&quot;</ETag>"), std::string::npos)
      << done.body;
  EXPECT_EQ(*s.server->object("b", "k")->bytes, "aabbc");
  EXPECT_TRUE(s.server->uploads("b").empty());
  EXPECT_EQ(s.complete({{1, kAa}}).status, 404);
  EXPECT_EQ(s.server->count("UploadPart"), 3U);
}

TEST(FaultServerUploads, WhatS3Refuses) {
  const Server s({.least_bytes = 2});
  (void)s.part(1, "aa");
  (void)s.part(2, "bb");
  (void)s.part(3, "c");
  EXPECT_NE(s.complete({{2, kBb}, {1, kAa}}).body.find("InvalidPartOrder"), std::string::npos);
  EXPECT_NE(s.complete({{1, kBb}}).body.find("InvalidPart<"), std::string::npos);
  EXPECT_NE(s.complete({{4, kAa}}).body.find("InvalidPart<"), std::string::npos);
  EXPECT_NE(s.complete({}).body.find("MalformedXML"), std::string::npos);
  (void)s.part(4, "bb");
  EXPECT_NE(s.complete({{3, kC}, {4, kBb}}).body.find("EntityTooSmall"), std::string::npos);
  s.server->put_object("b", "k", "there");
  EXPECT_EQ(s.complete({{1, kAa}}, "If-None-Match: *").status, 412);
  EXPECT_EQ(*s.server->object("b", "k")->bytes, "there");
  EXPECT_EQ(s.complete({{1, kAa}, {3, kC}}).status, 200) << "the last one may be small";
}

TEST(FaultServerUploads, LimitsOfOtherStores) {
  const Server s({.equal_sizes = true, .most_parts = 2});
  (void)s.part(1, "aa");
  EXPECT_EQ(s.part(3, "c").status, 400);
  (void)s.part(2, "ccc");
  EXPECT_EQ(s.complete({{1, kAa}, {2, "&quot;9df62e693988eb4e1e1444ece0578579&quot;"}}).status, 400);
  (void)s.part(2, "bb");
  EXPECT_EQ(s.complete({{1, kAa}, {2, kBb}}).status, 200);
}

TEST(FaultServerUploads, EndedByRequestAndByTheBucketsRule) {
  const Server s;
  (void)s.part(1, "aa");
  EXPECT_EQ(send("DELETE", s.url()).status, 204);
  EXPECT_EQ(send("DELETE", s.url()).status, 404);
  EXPECT_EQ(s.part(1, "aa").status, 404);
  (void)send("POST", s.server->endpoint() + "/b/k2?uploads=");
  EXPECT_EQ(s.server->end_uploads("b", "other"), 0U);
  EXPECT_EQ(s.server->end_uploads("b"), 1U);
  EXPECT_TRUE(s.server->uploads("b").empty());
}

TEST(FaultServerUploads, WhatNoJobNeedsIsNotThere) {
  const Server s;
  s.server->put_object("b", "k", "x");
  EXPECT_EQ(send("PUT", s.server->endpoint() + "/b/copy", "", "x-amz-copy-source: /b/k").status, 501);
  EXPECT_EQ(send("POST", s.server->endpoint() + "/b?delete=", "<Delete/>").status, 501);
  EXPECT_EQ(send("PUT", s.server->endpoint() + "/b/k?tagging=", "<Tagging/>").status, 501);
  EXPECT_EQ(s.server->count("Other"), 3U);
}

}  // namespace
}  // namespace millrace::testing
