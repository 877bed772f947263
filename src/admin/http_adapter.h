// SPDX-License-Identifier: Apache-2.0
// HttpListener: answers GET and HEAD requests by path. Around cpp-httplib, which only this file's .cc knows.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "admin/listen_address.h"
#include "millrace/base/result.h"

namespace millrace::admin {

struct HttpAnswer {
  int status = 200;
  std::string content_type;
  std::string body;
};
/// Called on the listener's threads, several at once.
using HttpHandler = std::function<HttpAnswer(std::string_view path)>;

class HttpListener {
 public:
  /// Binds, and serves on its own threads. Fails (config) naming the address and why it cannot be had.
  [[nodiscard]] static Result<std::unique_ptr<HttpListener>> listen(const ListenAddress& address, HttpHandler handler);
  /// Waits for the answers under way.
  ~HttpListener();
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;

  /// With the port it got.
  [[nodiscard]] const ListenAddress& address() const noexcept;

 private:
  struct State;
  explicit HttpListener(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace millrace::admin
