// SPDX-License-Identifier: Apache-2.0
// Goal: what a probe, a scraper and a person get. Method: a client of a few lines over a socket on loopback, free
// ports.
#include "millrace/admin/admin_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>

#include "millrace/testing/manual_clock.h"

namespace millrace {
namespace {

std::string ask(const std::string& address, const std::string& request) {
  const auto colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
  EXPECT_EQ(inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr), 1);
  const int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(connect(socket_fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  EXPECT_EQ(send(socket_fd, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t got = 0; (got = recv(socket_fd, buffer, sizeof buffer, 0)) > 0;) {
    answer.append(buffer, static_cast<std::size_t>(got));
  }
  close(socket_fd);
  return answer;
}

struct Answer {
  int status = 0;
  std::string head;
  std::string body;
};
Answer get(const AdminServer& server, const std::string& path, const std::string& method = "GET") {
  const std::string answer =
      ask(server.address(), method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n");
  const auto end = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.1 ") || end == std::string::npos) return {};
  return {std::stoi(answer.substr(9, 3)), answer.substr(0, end), answer.substr(end + 4)};
}

struct AdminServerTest : ::testing::Test {
  millrace::testing::ManualClock clock;
  std::shared_ptr<MetricRegistry> registry = std::make_shared<MetricRegistry>();
  Mutex mutex;
  PipelineSnapshot shown MILLRACE_GUARDED_BY(mutex);
  std::unique_ptr<AdminServer> server;

  void SetUp() override {
    auto started = AdminServer::start({.listen = "127.0.0.1:0"}, registry, [this] { return snapshot(); }, clock);
    ASSERT_TRUE(started) << started.error().message();
    server = std::move(*started);
  }
  PipelineSnapshot snapshot() {
    const MutexLock lock(mutex);
    return shown;
  }
  void show(const std::function<void(PipelineSnapshot&)>& change) {
    const MutexLock lock(mutex);
    change(shown);
  }
};

TEST_F(AdminServerTest, ListensOnLoopbackAndSaysWhere) {
  EXPECT_TRUE(server->address().starts_with("127.0.0.1:"));
  EXPECT_NE(server->address(), "127.0.0.1:0");
}

TEST_F(AdminServerTest, MetricsAreThePrometheusText) {
  Counter records = *registry->counter("source_records_total", "Records read.", {{"pipeline", "p"}});
  records.add(5);
  const Answer answer = get(*server, "/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.head.find("Content-Type: text/plain; version=0.0.4"), std::string::npos) << answer.head;
  EXPECT_EQ(answer.body,
            "# HELP etl_source_records_total Records read.\n"
            "# TYPE etl_source_records_total counter\n"
            "etl_source_records_total{pipeline=\"p\"} 5\n");
}

TEST_F(AdminServerTest, HealthFailsWithTheReason) {
  show([](PipelineSnapshot& snapshot) { snapshot.phase = PipelineSnapshot::Phase::running; });
  EXPECT_EQ(get(*server, "/healthz").status, 200);
  EXPECT_EQ(get(*server, "/healthz").body, "ok\n");
  show([](PipelineSnapshot& snapshot) { snapshot.since_control_heartbeat = std::chrono::seconds(31); });
  EXPECT_EQ(get(*server, "/healthz").status, 503);
  EXPECT_EQ(get(*server, "/healthz").body, "the control thread has given no sign for 31.0 s (limit 30 s)\n");
}

TEST_F(AdminServerTest, ReadyWhileRunning) {
  using Phase = PipelineSnapshot::Phase;
  for (const auto& [phase, status, body] :
       std::vector<std::tuple<Phase, int, std::string>>{{Phase::starting, 503, "starting\n"},
                                                        {Phase::running, 200, "running\n"},
                                                        {Phase::draining, 503, "draining\n"}}) {
    show([now = phase](PipelineSnapshot& snapshot) { snapshot.phase = now; });
    EXPECT_EQ(get(*server, "/readyz").status, status);
    EXPECT_EQ(get(*server, "/readyz").body, body);
  }
}

TEST_F(AdminServerTest, StatusIsJson) {
  show([](PipelineSnapshot& snapshot) { snapshot.records_in = 42; });
  const Answer answer = get(*server, "/status");
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.head.find("Content-Type: application/json"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(answer.body)["records"]["in"], 42);
}

TEST_F(AdminServerTest, AnotherPageIsNotFoundAndSaysWhichThereAre) {
  EXPECT_EQ(get(*server, "/nothing").status, 404);
  EXPECT_EQ(get(*server, "/nothing").body, "there is no such page; there are /metrics /healthz /readyz /status\n");
  EXPECT_EQ(get(*server, "/status", "OPTIONS").status, 404);
  EXPECT_EQ(get(*server, "/status", "HEAD").body, "");
}

TEST_F(AdminServerTest, NonsenseGetsNoPipelineDown) {
  ask(server->address(), "\r\n\r\n");
  ask(server->address(), "GET\r\n\r\n");
  ask(server->address(), "GET /status HTTP/9.9\r\n\r\n");
  ask(server->address(), std::string(100'000, 'x') + "\r\n\r\n");
  EXPECT_EQ(get(*server, "/status").status, 200);
}

TEST_F(AdminServerTest, AnAddressInUseIsNamed) {
  const auto second = AdminServer::start({.listen = server->address()}, registry, [this] { return snapshot(); });
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::config);
  EXPECT_EQ(second.error().message(),
            "the admin listener cannot listen on " + server->address() +
                ": Address already in use; give another address in metrics.listen, or end what "
                "listens there");
}

TEST_F(AdminServerTest, AHostThatIsNoneIsNamed) {
  const auto refused = AdminServer::start({.listen = "203.0.113.1:0"}, registry, [this] { return snapshot(); });
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message().starts_with("the admin listener cannot listen on 203.0.113.1:0: "))
      << refused.error().message();
}

TEST(AdminServer, WithoutARegistryThereAreNoMetrics) {
  const auto server = AdminServer::start({.listen = "0"}, nullptr, [] { return PipelineSnapshot(); });
  ASSERT_TRUE(server);
  EXPECT_EQ(get(**server, "/metrics").status, 404);
  EXPECT_EQ(get(**server, "/").body, "there is no such page; there are /healthz /readyz /status\n");
}

TEST(AdminServer, ThePortIsFreeAgainWhenItIsGone) {
  std::string address;
  for (int i = 0; i < 20; ++i) {
    auto server = AdminServer::start({.listen = i == 0 ? "0" : address}, nullptr, [] { return PipelineSnapshot(); });
    ASSERT_TRUE(server) << server.error().message();
    address = (*server)->address();
  }
}

TEST(AdminServer, AMalformedAddressIsRefused) {
  const auto refused = AdminServer::start({.listen = "nonsense"}, nullptr, [] { return PipelineSnapshot(); });
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message().starts_with("'nonsense' is no address to listen on: "));
}

}  // namespace
}  // namespace millrace
