// SPDX-License-Identifier: Apache-2.0
// HttpListener: an HTTP/1.1 server on plain sockets, one thread a connection, with control over each byte and its time.
// Loopback only; for tests. Made and stopped by one thread; the handler runs on connection threads, several at once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "millrace/base/result.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"
#include "tests/s3_fault_server/http_message.h"

namespace millrace::testing {

class HttpListener {
 public:
  using Handler = std::function<HttpAnswer(const HttpRequest&)>;
  struct Options {
    std::uint16_t port = 0;    ///< 0: a free one
    Duration idle_timeout{0};  ///< closes a kept-alive connection after this; 0: never
  };
  [[nodiscard]] static Result<std::unique_ptr<HttpListener>> start(Options options, Handler handler);
  /// Ends every connection at once, and joins.
  ~HttpListener();
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::string endpoint() const;  ///< http://127.0.0.1:port
  /// Connections accepted so far.
  [[nodiscard]] std::uint64_t connections() const noexcept { return accepted_.load(); }
  /// Those of them that neither side has closed.
  [[nodiscard]] std::uint64_t open_connections() const noexcept { return open_.load(); }

 private:
  struct Connection;
  HttpListener(Options options, Handler handler, int listener, int stop, std::uint16_t port);
  void accept_loop();
  void reap();

  const Options options_;
  const Handler handler_;
  const int listener_;
  const int stop_;  // an eventfd, readable from the stop on
  const std::uint16_t port_;
  Atomic<std::uint64_t> accepted_{0};
  Atomic<std::uint64_t> open_{0};
  Mutex mutex_;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_ MILLRACE_GUARDED_BY(mutex_);
  Thread acceptor_;
};

}  // namespace millrace::testing
