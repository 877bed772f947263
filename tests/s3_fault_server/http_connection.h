// SPDX-License-Identifier: Apache-2.0
// HttpConnection: one accepted socket: reads requests, sends answers the way their Delivery says. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/time.h"
#include "tests/s3_fault_server/http_message.h"

namespace millrace::testing {

class HttpConnection {
 public:
  /// Owns `socket`. Returns from waits as soon as `stop` is readable.
  HttpConnection(int socket, int stop, std::uint64_t number, Duration idle_timeout);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  /// Until either side closes.
  void serve(const std::function<HttpAnswer(const HttpRequest&)>& handler);

 private:
  enum class Wait { ready, timeout, over };
  Wait wait_readable(std::optional<Duration> timeout);
  /// False when the peer went away or the server stops. Bytes that arrive meanwhile stay unread.
  bool pause(Duration duration);
  bool read_more();
  std::optional<HttpRequest> read_request();
  bool send_all(std::string_view bytes);
  bool send_body(const HttpAnswer& answer);
  bool send_piece(const Delivery& delivery, std::string_view bytes);
  /// True when the connection may serve another request.
  bool send_answer(const HttpAnswer& answer);
  void reset();

  int socket_;
  const int stop_;
  const std::uint64_t number_;
  const Duration idle_timeout_;
  std::string unread_;
};

}  // namespace millrace::testing
