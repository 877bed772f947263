// SPDX-License-Identifier: Apache-2.0
// Goal: the server does what its script says, so that a passing client test means something. Method: libcurl's easy
// interface as the client, raw sockets where curl is too polite.
#include "tests/s3_fault_server/fault_server.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace millrace::testing {
namespace {

struct Reply {
  CURLcode result = CURLE_OK;
  long status = 0;
  std::string body;
  std::string head;
};

std::size_t append(char* data, std::size_t size, std::size_t count, void* to) {
  static_cast<std::string*>(to)->append(data, size * count);
  return size * count;
}

Reply fetch(const std::string& url, std::vector<std::string> headers = {}, const char* method = "GET") {
  CURL* curl = curl_easy_init();
  Reply reply;
  curl_slist* list = nullptr;
  for (const auto& header : headers) list = curl_slist_append(list, header.c_str());
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &reply.body);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, append);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &reply.head);
  reply.result = curl_easy_perform(curl);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply.status);
  curl_slist_free_all(list);
  curl_easy_cleanup(curl);
  return reply;
}

std::unique_ptr<FaultServer> unsigned_server(FaultServerOptions options = {}) {
  options.check_signatures = false;
  auto server = FaultServer::start(options);
  EXPECT_TRUE(server) << server.error().message();
  return std::move(*server);
}

TEST(FaultServer, ServesRangesWithTheirTotal) {
  auto server = unsigned_server();
  server->put_object("b", "k", "0123456789");
  const auto reply = fetch(server->endpoint() + "/b/k", {"Range: bytes=2-4"});
  EXPECT_EQ(reply.status, 206);
  EXPECT_EQ(reply.body, "234");
  EXPECT_NE(reply.head.find("Content-Range: bytes 2-4/10\r\n"), std::string::npos);
  EXPECT_NE(reply.head.find("ETag: \"781e5e245d69b566979b86e28d23f2c7\"\r\n"), std::string::npos);  // md5sum
  EXPECT_EQ(fetch(server->endpoint() + "/b/k", {"Range: bytes=10-"}).status, 416);
  EXPECT_EQ(fetch(server->endpoint() + "/b/k", {"If-Match: \"other\""}).status, 412);
  EXPECT_EQ(fetch(server->endpoint() + "/b/none").status, 404);
}

TEST(FaultServer, ListsInPagesWithOddTokens) {
  auto server = unsigned_server({.page_size = 2});
  for (const char* key : {"in/a b", "in/c", "in/d&e", "out"}) server->put_object("b", key, "x");
  const auto first = fetch(server->endpoint() + "/b?list-type=2&prefix=in%2F&encoding-type=url");
  EXPECT_NE(first.body.find("<Key>in/a%20b</Key>"), std::string::npos) << first.body;
  EXPECT_NE(first.body.find("<IsTruncated>true</IsTruncated>"), std::string::npos);
  // The token: "1+/=&% " and the hex of "in/c".
  EXPECT_NE(first.body.find("<NextContinuationToken>1+/=&amp;% 696e2f63</NextContinuationToken>"), std::string::npos);
  const auto second =
      fetch(server->endpoint() + "/b?list-type=2&prefix=in%2F&continuation-token=1%2B%2F%3D%26%25%20696e2f63");
  EXPECT_NE(second.body.find("<Key>in/d&amp;e</Key>"), std::string::npos) << second.body;
  EXPECT_NE(second.body.find("<IsTruncated>false</IsTruncated>"), std::string::npos);
  EXPECT_EQ(server->requests("ListObjectsV2")[1].query_value("continuation-token"), "1+/=&% 696e2f63");
}

TEST(FaultServer, SyntheticKeysAreMadePageByPage) {
  auto server = unsigned_server({.page_size = 3});
  server->set_synthetic_keys("b", {"in/", 5, std::make_shared<const std::string>("{}\n")});
  const auto page = fetch(server->endpoint() + "/b?list-type=2&prefix=in%2F&start-after=in%2F0000000002");
  EXPECT_NE(page.body.find("<Key>in/0000000003</Key>"), std::string::npos) << page.body;
  EXPECT_NE(page.body.find("<KeyCount>2</KeyCount>"), std::string::npos);
  EXPECT_EQ(fetch(server->endpoint() + "/b/in/0000000004").body, "{}\n");
}

TEST(FaultServer, FaultsHappenToTheNthRequestAsScripted) {
  auto server = unsigned_server();
  server->put_object("b", "k", "0123456789");
  server->add_fault("op=GetObject key=k skip=1 status=503 code=SlowDown header='Retry-After: 2'");
  server->add_fault("op=GetObject times=1 close_after=4");
  server->add_fault("op=GetObject times=1 reset_after=6");
  const std::string url = server->endpoint() + "/b/k";
  const auto cut = fetch(url);
  EXPECT_EQ(cut.result, CURLE_PARTIAL_FILE);
  EXPECT_EQ(cut.body, "0123");
  const auto slow = fetch(url);
  EXPECT_EQ(slow.status, 503);
  EXPECT_NE(slow.body.find("<Code>SlowDown</Code>"), std::string::npos);
  EXPECT_NE(slow.head.find("Retry-After: 2"), std::string::npos);
  const auto reset = fetch(url);
  EXPECT_EQ(reset.result, CURLE_RECV_ERROR);
  EXPECT_EQ(reset.body, "012345");
  EXPECT_TRUE(server->all_faults_happened());
  EXPECT_EQ(fetch(url).body, "0123456789");
  EXPECT_EQ(server->count("GetObject", "k"), 4U);
}

TEST(FaultServer, BodiesWithoutLengthOrEnd) {
  auto server = unsigned_server();
  server->put_object("b", "k", "0123456789");
  server->add_fault("op=GetObject framing=chunked close_after=4 omit_last_chunk");
  server->add_fault("op=GetObject framing=until_close close_after=4");
  server->add_fault("op=GetObject framing=chunked");
  const std::string url = server->endpoint() + "/b/k";
  EXPECT_EQ(fetch(url).result, CURLE_PARTIAL_FILE);
  const auto until_close = fetch(url);
  EXPECT_EQ(until_close.result, CURLE_OK);
  EXPECT_EQ(until_close.body, "0123");
  EXPECT_EQ(fetch(url).body, "0123456789");
}

TEST(FaultServer, RangesCanBeBent) {
  auto server = unsigned_server();
  server->put_object("b", "k", "0123456789");
  server->add_fault("op=GetObject shift_range=3");
  server->add_fault("op=GetObject short_range=2");
  server->add_fault("op=GetObject total_size=99");
  server->add_fault("op=GetObject ignore_range");
  const std::string url = server->endpoint() + "/b/k";
  EXPECT_EQ(fetch(url, {"Range: bytes=0-3"}).body, "3456");
  EXPECT_EQ(fetch(url, {"Range: bytes=0-3"}).body, "01");
  EXPECT_NE(fetch(url, {"Range: bytes=0-3"}).head.find("bytes 0-3/99"), std::string::npos);
  EXPECT_EQ(fetch(url, {"Range: bytes=0-3"}).body, "0123456789");
}

TEST(FaultServer, ObjectsChangeAfterAnAnswer) {
  auto server = unsigned_server();
  server->put_object("b", "k", "old");
  server->add_fault("op=GetObject replace_object=new");
  server->add_fault("op=GetObject skip=0 delete_object");
  const std::string url = server->endpoint() + "/b/k";
  EXPECT_EQ(fetch(url).body, "old");
  EXPECT_EQ(fetch(url).body, "new");
  EXPECT_EQ(fetch(url).status, 404);
}

TEST(FaultServer, RefusesWhatIsNotStrictlyEncoded) {
  auto server = unsigned_server({.base_path = "/gw/s3"});
  server->put_object("b", "a+b", "x");
  EXPECT_EQ(fetch(server->endpoint() + "/b/a+b").status, 400);
  EXPECT_EQ(fetch(server->endpoint() + "/b/a%2bb").status, 400);
  EXPECT_EQ(fetch(server->endpoint() + "/b/a%2Bb").status, 200);
  EXPECT_EQ(fetch("http://127.0.0.1:" + std::to_string(server->port()) + "/b/a%2Bb").status, 400);
}

TEST(FaultServer, ChecksSignatures) {
  auto started = FaultServer::start();
  ASSERT_TRUE(started);
  auto& server = **started;
  server.put_object("b", "k", "0123456789");
  EXPECT_EQ(fetch(server.endpoint() + "/b/k").status, 403);
  const auto forged =
      fetch(server.endpoint() + "/b/k",
            {"x-amz-content-sha256: UNSIGNED-PAYLOAD", "x-amz-date: 20130524T000000Z",
             "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20130524/us-east-1/s3/aws4_request, "
             "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=00"});
  EXPECT_NE(forged.body.find("RequestTimeTooSkewed"), std::string::npos) << forged.body;
}

TEST(FaultServer, KeepsAConnectionAliveUntilItsIdleTime) {
  auto server = unsigned_server({.idle_timeout = std::chrono::milliseconds(50)});
  server->put_object("b", "k", "x");
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::string request = "GET /b/k HTTP/1.1\r\nHost: h\r\n\r\n";
  std::string got;
  char buffer[4096];
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(::send(socket, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
    for (std::string one; one.find("\r\n\r\nx") == std::string::npos;) {
      const auto count = ::recv(socket, buffer, sizeof buffer, 0);
      ASSERT_GT(count, 0);
      one.append(buffer, static_cast<std::size_t>(count));
    }
  }
  EXPECT_EQ(::recv(socket, buffer, sizeof buffer, 0), 0);  // closed by the server
  ::close(socket);
  EXPECT_EQ(server->connections(), 1U);
  EXPECT_EQ(server->requests()[1].http.connection, 1U);
}

}  // namespace
}  // namespace millrace::testing
