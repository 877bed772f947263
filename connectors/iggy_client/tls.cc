// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy_client/tls.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <limits>

#include "connectors/iggy_client/resolver.h"
#include "millrace/base/printable.h"

namespace millrace::iggy {
namespace {

struct FreeContext {
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
};
struct FreeSession {
  void operator()(SSL* session) const noexcept { SSL_free(session); }
};
struct FreeMethod {
  void operator()(BIO_METHOD* method) const noexcept { BIO_meth_free(method); }
};

std::string openssl_says() {
  std::array<char, 256> text{};
  const unsigned long code = ERR_get_error();
  if (code == 0) return "no reason was given";
  ERR_error_string_n(code, text.data(), text.size());
  ERR_clear_error();
  return text.data();
}

Error set_up_failed(std::string_view what) {
  return Error::fatal(ErrorCode::config, fmt::format("TLS cannot be set up: {}: {}", what, openssl_says()));
}

// What the library reads and writes goes through the Socket, which never raises a signal.
struct Pipe {
  std::unique_ptr<Socket> socket;
  std::optional<Error> error;
};

Pipe& pipe_of(BIO* bio) { return *static_cast<Pipe*>(BIO_get_data(bio)); }

int write_through(BIO* bio, const char* bytes, int count) {
  BIO_clear_retry_flags(bio);
  Pipe& pipe = pipe_of(bio);
  auto sent = pipe.socket->try_send({bytes, static_cast<std::size_t>(count)});
  if (!sent) {
    pipe.error = std::move(sent).error();
    return -1;
  }
  if (*sent) return static_cast<int>(**sent);
  BIO_set_retry_write(bio);
  return -1;
}

int read_through(BIO* bio, char* room, int count) {
  BIO_clear_retry_flags(bio);
  Pipe& pipe = pipe_of(bio);
  auto got = pipe.socket->try_receive({room, static_cast<std::size_t>(count)});
  if (!got) {
    pipe.error = std::move(got).error();
    return -1;
  }
  if (*got && **got == 0) {
    pipe.error = Socket::closed();
    return 0;
  }
  if (*got) return static_cast<int>(**got);
  BIO_set_retry_read(bio);
  return -1;
}

long control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* method() {
  static const std::unique_ptr<BIO_METHOD, FreeMethod> made = [] {
    std::unique_ptr<BIO_METHOD, FreeMethod> one(BIO_meth_new(BIO_TYPE_SOURCE_SINK, "millrace socket"));
    if (one) {
      BIO_meth_set_write(one.get(), write_through);
      BIO_meth_set_read(one.get(), read_through);
      BIO_meth_set_ctrl(one.get(), control);
    }
    return one;
  }();
  return made.get();
}

class TlsTransport final : public Transport {
 public:
  TlsTransport(std::unique_ptr<Socket> socket, std::unique_ptr<SSL_CTX, FreeContext> context)
      : pipe_{std::move(socket), std::nullopt}, context_(std::move(context)) {}

  Result<void> begin(const TlsOptions& options, const std::string& host, SteadyTime deadline) {
    session_.reset(SSL_new(context_.get()));
    BIO* const bio = method() != nullptr ? BIO_new(method()) : nullptr;
    if (!session_ || bio == nullptr) return fail(set_up_failed("no session"));
    BIO_set_data(bio, &pipe_);
    BIO_set_init(bio, 1);
    SSL_set_bio(session_.get(), bio, bio);
    const std::string& name = options.server_name.empty() ? host : options.server_name;
    if (is_numeric(name)) {
      if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session_.get()), name.c_str()) != 1) {
        return fail(set_up_failed("the address"));
      }
    } else if (SSL_set1_host(session_.get(), name.c_str()) != 1 ||
               SSL_set_tlsext_host_name(session_.get(), name.c_str()) != 1) {
      return fail(set_up_failed("the server's name"));
    }
    for (;;) {
      ERR_clear_error();
      const int done = SSL_connect(session_.get());
      if (done == 1) return {};
      MILLRACE_TRY(go_on(done, deadline, [&] {
        return handshake_failed(name, options.verify, SSL_get_verify_result(session_.get()));
      }));
    }
  }

  Result<void> send(std::string_view bytes, SteadyTime deadline) override {
    while (!bytes.empty()) {
      std::size_t sent = 0;
      // Whatever other calls on this thread left in the library's queue would be taken for this one's.
      ERR_clear_error();
      const int done = SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &sent);
      if (done == 1) {
        bytes.remove_prefix(sent);
      } else {
        MILLRACE_TRY(go_on(done, deadline, broken));
      }
    }
    return {};
  }

  Result<std::size_t> receive(std::span<char> room, SteadyTime deadline) override {
    for (;;) {
      std::size_t got = 0;
      ERR_clear_error();
      const int done = SSL_read_ex(session_.get(), room.data(), room.size(), &got);
      if (done == 1) return got;
      MILLRACE_TRY(go_on(done, deadline, broken));
    }
  }

  Address peer() const override { return pipe_.socket->peer(); }

 private:
  static Error broken() {
    return Error::retryable(ErrorCode::interrupted_transfer, "the TLS connection broke: " + openssl_says());
  }

  // After a call that did not succeed: waits for what it wants, or says what went wrong.
  template <class Otherwise>
  Result<void> go_on(int done, SteadyTime deadline, Otherwise otherwise) {
    const int why = SSL_get_error(session_.get(), done);
    if (pipe_.error) {
      ERR_clear_error();
      return fail(*std::exchange(pipe_.error, std::nullopt));
    }
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
      return pipe_.socket->wait(why == SSL_ERROR_WANT_WRITE, deadline);
    }
    if (why == SSL_ERROR_ZERO_RETURN) return fail(Socket::closed());
    return fail(otherwise());
  }

  Pipe pipe_;
  const std::unique_ptr<SSL_CTX, FreeContext> context_;
  std::unique_ptr<SSL, FreeSession> session_;  // last: it writes through the pipe when it goes
};

}  // namespace

Error handshake_failed(std::string_view name, bool verify, long verdict) {
  const std::string reason = openssl_says();
  // What is not looked at is no reason, though there is a verdict on it.
  if (!verify || verdict == X509_V_OK) {
    return Error::retryable(
        ErrorCode::interrupted_transfer,
        fmt::format("the TLS handshake failed: {}; does the server speak TLS on this port?", reason));
  }
  return Error::fatal(
      ErrorCode::credentials,
      fmt::format("the server's certificate is not trusted for '{}': {}; set tls.ca_file to the authority that signed "
                  "it, or tls.server_name to a name that it holds",
                  printable(name), X509_verify_cert_error_string(verdict)));
}

Result<std::unique_ptr<Transport>> start_tls(std::unique_ptr<Socket> socket, const TlsOptions& options,
                                             const std::string& host, SteadyTime deadline) {
  std::unique_ptr<SSL_CTX, FreeContext> context(SSL_CTX_new(TLS_client_method()));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    return fail(set_up_failed("no context"));
  }
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(context.get(), options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  if (!options.ca_file.empty()) {
    if (SSL_CTX_load_verify_locations(context.get(), options.ca_file.c_str(), nullptr) != 1) {
      return fail(set_up_failed(fmt::format("the certificates of tls.ca_file '{}'", printable(options.ca_file))));
    }
  } else if (options.verify && SSL_CTX_set_default_verify_paths(context.get()) != 1) {
    return fail(set_up_failed("the certificates that the system trusts"));
  }
  auto transport = std::make_unique<TlsTransport>(std::move(socket), std::move(context));
  MILLRACE_TRY(transport->begin(options, host, deadline));
  return transport;
}

Result<std::unique_ptr<Transport>> connect_to(const Address& address, const TlsOptions& tls, Clock& clock,
                                              SteadyTime deadline, const Cancellation& cancellation,
                                              Resolver& resolver) {
  MILLRACE_ASSIGN(const std::vector<SocketAddress> addresses, resolver.resolve(address, clock, deadline, cancellation));
  MILLRACE_ASSIGN(std::unique_ptr<Socket> socket, Socket::connect(addresses, clock, deadline, cancellation));
  if (!tls.enabled) return std::unique_ptr<Transport>(std::move(socket));
  return start_tls(std::move(socket), tls, address.host, deadline);
}

}  // namespace millrace::iggy
