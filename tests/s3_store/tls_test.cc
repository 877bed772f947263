// SPDX-License-Identifier: Apache-2.0
// Goal: B04, certificates are always checked, against the authority and the name, unless the user says twice that they
// should not be. Method: a server of a few lines that speaks TLS with a certificate made for the test.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/s3_store/fixture.h"

namespace millrace::s3 {
namespace {

template <auto Free>
struct FreeWith {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using Key = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, FreeWith<X509_free>>;

// Self-signed: it is its own authority.
Certificate certificate_for(EVP_PKEY* key, const std::string& alternative_name) {
  Certificate certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("millrace test"), -1, -1,
                             0);
  X509_set_issuer_name(certificate.get(), name);
  for (const auto& [nid, value] : {std::pair{NID_subject_alt_name, alternative_name},
                                   std::pair{NID_basic_constraints, std::string("critical,CA:TRUE")}}) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
    X509_add_ext(certificate.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }
  X509_sign(certificate.get(), key, EVP_sha256());
  return certificate;
}

class TlsServer {
 public:
  explicit TlsServer(const std::string& alternative_name)
      : key_(EVP_EC_gen("P-256")), certificate_(certificate_for(key_.get(), alternative_name)) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to clients that have hung up
    context_ = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(context_, certificate_.get());
    SSL_CTX_use_PrivateKey(context_, key_.get());
    char name[] = "/tmp/millrace-ca-XXXXXX";
    ::close(::mkstemp(name));
    bundle_ = name;
    std::FILE* file = std::fopen(name, "w");
    PEM_write_X509(file, certificate_.get());
    std::fclose(file);
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
    stop_ = ::eventfd(0, EFD_CLOEXEC);
    thread_ = Thread("tls-server", [this] { serve(); });
  }
  ~TlsServer() {
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(stop_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
    thread_.join();
    ::close(listener_);
    ::close(stop_);
    SSL_CTX_free(context_);
    std::filesystem::remove(bundle_);
  }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  [[nodiscard]] S3Options options() const {
    S3Options options;
    options.bucket = "my.bucket.v1";
    options.endpoint = "https://127.0.0.1:" + std::to_string(port_);
    options.keys = Credentials{"AK", "SK", "", INT64_MAX, "test"};
    return options;
  }
  [[nodiscard]] const std::string& bundle() const { return bundle_; }

 private:
  void serve() {
    while (true) {
      pollfd ready[2] = {{listener_, POLLIN, 0}, {stop_, POLLIN, 0}};
      if (::poll(ready, 2, -1) < 0 || ready[1].revents != 0) return;
      const int socket = ::accept(listener_, nullptr, nullptr);
      SSL* ssl = SSL_new(context_);
      SSL_set_fd(ssl, socket);
      if (SSL_accept(ssl) == 1) {
        char request[8192];
        (void)SSL_read(ssl, request, sizeof request);
        const std::string answer =
            "HTTP/1.1 200 OK\r\nContent-Length: 69\r\nConnection: close\r\n\r\n"
            "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
        (void)SSL_write(ssl, answer.data(), static_cast<int>(answer.size()));
        SSL_shutdown(ssl);
      }
      SSL_free(ssl);
      ::close(socket);
    }
  }

  const Key key_;
  const Certificate certificate_;
  SSL_CTX* context_ = nullptr;
  std::string bundle_;
  int listener_ = -1;
  int stop_ = -1;
  std::uint16_t port_ = 0;
  Thread thread_;
};

Result<ListPage> list(const S3Options& options) { return (*make_store(options, {}))->list({}); }

TEST(S3StoreTls, B04_AnUnknownAuthorityIsRefusedAndABundleNamesIt) {
  const TlsServer server("IP:127.0.0.1");
  S3Options options = server.options();
  const auto refused = list(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::unreachable);
  EXPECT_TRUE(refused.error().is_fatal());
  EXPECT_NE(refused.error().message().find("store.ca_bundle"), std::string::npos) << refused.error().message();
  options.ca_bundle = server.bundle();
  const auto listed = list(options);
  EXPECT_TRUE(listed) << listed.error().describe();
}

// What is wrong with the file is not told as what is wrong with the server.
TEST(S3StoreTls, ABundleThatCannotBeUsedIsToldBeforeAnybodyIsAsked) {
  const TlsServer server("IP:127.0.0.1");
  S3Options options = server.options();
  const std::string junk = server.bundle() + ".junk";
  options.ca_bundle = junk;
  EXPECT_EQ(make_store(options, {}).error().message(),
            "the file of certificate authorities " + junk +
                " (store.ca_bundle, else AWS_CA_BUNDLE) cannot be read: No such file or directory");
  std::ofstream(junk) << "not a certificate\n-----BEGIN CERTIFICATE REQUEST-----\n";
  EXPECT_EQ(make_store(options, {}).error().code(), ErrorCode::config);
  EXPECT_NE(make_store(options, {}).error().message().find("holds no certificate"), std::string::npos);
  options.ca_bundle = std::filesystem::temp_directory_path().string();
  EXPECT_NE(make_store(options, {}).error().message().find("cannot be read"), std::string::npos)
      << make_store(options, {}).error().message();
  // Only libcurl finds out that it is broken inside.
  std::ofstream(junk) << "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  options.ca_bundle = junk;
  const auto listed = list(options);
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code(), ErrorCode::config);
  EXPECT_EQ(listed.error().message().find("not trusted"), std::string::npos) << listed.error().message();
  std::filesystem::remove(junk);
}

TEST(S3StoreTls, B04_ACertificateForOtherNamesIsRefused) {
  const TlsServer server("DNS:*.s3.test");
  S3Options options = server.options();
  options.ca_bundle = server.bundle();
  EXPECT_EQ(list(options).error().code(), ErrorCode::unreachable);
  options.accept_any_certificate = true;
  EXPECT_TRUE(list(options));
}

}  // namespace
}  // namespace millrace::s3
