// SPDX-License-Identifier: Apache-2.0
// Goal: TLS, with a certificate that is trusted, one that is not, and none. Method: a fake server with a certificate
// made for the test, which names localhost alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/x509.h>

#include <cstdlib>
#include <filesystem>

#include "connectors/iggy_client/client_fixture.h"
#include "connectors/iggy_client/tls.h"
#include "tests/iggy_rig/fake_server.h"

namespace millrace::iggy {
namespace {

using ::testing::HasSubstr;

class Tls : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string pattern = ::testing::TempDir() + "iggy-tls-XXXXXX";
    folder() = ::mkdtemp(pattern.data());
    const std::string command =
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost "
        "-keyout " +
        key() + " -out " + certificate() + " 2>/dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder()); }
  static std::string& folder() {
    static std::string path;
    return path;
  }
  static std::string key() { return folder() + "/key.pem"; }
  static std::string certificate() { return folder() + "/certificate.pem"; }

  [[nodiscard]] ClientOptions with_tls(const std::string& host) const {
    ClientOptions options = options_for(host + ":" + server_.port());
    options.tls.enabled = true;
    options.tls.ca_file = certificate();
    return options;
  }
  static Result<void> connected(const ClientOptions& options) {
    MILLRACE_ASSIGN(const std::unique_ptr<Client> client, Client::make(options));
    MILLRACE_TRY(client->connect(Clock::real().now() + std::chrono::seconds(20)));
    return client->ping();
  }
  iggy_rig::FakeServer server_{"vsr", {"--tls", certificate(), key()}};
};

TEST_F(Tls, ATrustedCertificate) {
  EXPECT_TRUE(connected(with_tls("localhost")));
  ClientOptions by_address = with_tls("127.0.0.1");
  by_address.tls.server_name = "localhost";
  EXPECT_TRUE(connected(by_address));
}

TEST_F(Tls, ANameThatTheCertificateDoesNotHoldIsFatal) {
  const auto refused = connected(with_tls("127.0.0.1"));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_fatal());
  EXPECT_THAT(refused.error().message(), HasSubstr("tls.server_name"));
}

TEST_F(Tls, ACertificateOfNobodyIsFatalUnlessItIsNotLookedAt) {
  ClientOptions options = with_tls("localhost");
  options.tls.ca_file.clear();
  const auto refused = connected(options);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_fatal());
  EXPECT_THAT(refused.error().message(), HasSubstr("tls.ca_file"));
  options.tls.verify = false;
  EXPECT_TRUE(connected(options));
}

TEST_F(Tls, AFileOfAuthoritiesThatIsNotThereIsFatal) {
  ClientOptions options = with_tls("localhost");
  options.tls.ca_file = "/nowhere.pem";
  const auto refused = connected(options);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_fatal());
  EXPECT_THAT(refused.error().message(), HasSubstr("/nowhere.pem"));
}

TEST_F(Tls, ALargeReplyInManyRecords) {
  server_.create(1);
  server_.append(0, 0, 5000);
  const auto client = Client::make(with_tls("localhost"));
  ASSERT_TRUE(client);
  PolledMessages polled;
  const TopicName topic{Identifier::name("s"), Identifier::name("t")};
  ASSERT_TRUE(
      (*client)->poll({Consumer::individual(Identifier::number(1)), topic, 0, PollFrom::offset(0), 5000}, polled));
  ASSERT_EQ(polled.messages().size(), 5000U);
  EXPECT_EQ(polled.messages()[4999].payload, "{\"n\":4999}");
}

// What another library left in the thread's queue of errors is not this connection's.
TEST_F(Tls, AnErrorOfSomebodyElseEndsNothing) {
  const auto client = *Client::make(with_tls("localhost"));
  for (int i = 0; i < 3; ++i) {
    ERR_raise(ERR_LIB_USER, 1);
    EXPECT_TRUE(client->ping());
  }
  EXPECT_EQ(client->sessions(), 1U);
}

// A cluster names its nodes by numbers, and their certificates hold the name that clients know.
TEST_F(Tls, ALeaderElsewhereIsVerifiedByTheNameOfTheAddress) {
  iggy_rig::FakeServer leader("vsr", {"--tls", certificate(), key()});
  const auto node = [](const char* name, const std::string& port, int role) {
    return nlohmann::json{{"name", name}, {"host", "127.0.0.1"}, {"port", std::stoi(port)}, {"role", role}};
  };
  const auto nodes = nlohmann::json::array({node("a", server_.port(), 1), node("b", leader.port(), 0)});
  server_.control({{"cluster", nodes}});
  leader.control({{"cluster", nodes}});
  const auto client = *Client::make(with_tls("localhost"));
  const auto done = client->ping();
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(client->address(), leader.address());
}

TEST(TlsHandshake, AVerdictCountsWhereItWasAskedFor) {
  ERR_clear_error();
  const long self_signed = X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT;
  EXPECT_TRUE(handshake_failed("host", true, self_signed).is_fatal());
  EXPECT_TRUE(handshake_failed("host", false, self_signed).is_retryable());
  EXPECT_TRUE(handshake_failed("host", true, X509_V_OK).is_retryable());
}

TEST(TlsAgainstPlain, AServerWithoutItIsNotTakenForOne) {
  const iggy_rig::FakeServer plain("classic");
  ClientOptions options = options_for(plain.address());
  options.tls.enabled = true;
  options.tls.verify = false;
  options.connect_timeout = std::chrono::seconds(3);
  const auto client = Client::make(options);
  ASSERT_TRUE(client);
  const auto refused = (*client)->connect(Clock::real().now() + std::chrono::seconds(4));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_retryable());
  EXPECT_THAT(refused.error().message(), HasSubstr(plain.address()));
  EXPECT_THAT(refused.error().message(), HasSubstr("does the server speak TLS on this port?"));
}

}  // namespace
}  // namespace millrace::iggy
