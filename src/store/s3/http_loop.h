// SPDX-License-Identifier: Apache-2.0
// HttpLoop: one thread that carries HTTP/1.1 requests with libcurl over reused connections. Requests are started,
// answered and cancelled on that thread; `post` is the way onto it. Owned by the store; destroying it ends what is
// under way with `cancelled` and joins.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "millrace/base/result.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"
#include "store/s3/http_exchange.h"

namespace millrace::s3 {

struct HttpLoopOptions {
  std::string user_agent;
  Duration connect_timeout{0};
  Duration no_progress_timeout{0};
  Duration pool_idle_timeout{0};
  std::string ca_bundle;
  bool accept_any_certificate = false;
  std::string proxy_url;
  std::string proxy_excludes;
};

class HttpLoop {
 public:
  using ExchangeId = std::uint64_t;
  using Done = std::move_only_function<void(HttpOutcome)>;

  [[nodiscard]] static Result<std::unique_ptr<HttpLoop>> start(const HttpLoopOptions& options);
  ~HttpLoop();
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  /// Any thread. Runs on the loop thread, in order; also during the stop, when new requests end at once.
  void post(std::move_only_function<void()> work);
  /// `post` for those who may outlive the loop; what they post then is dropped.
  [[nodiscard]] std::function<void(std::move_only_function<void()>)> poster() const;
  /// Any thread. Ends what is under way, and whatever is started from now on, with `cancelled`.
  void cancel_all();

  // Loop thread only.
  /// `receiver` stays valid until `done`, which is called once, after this call has returned.
  ExchangeId send(HttpRequest request, HttpReceiver& receiver, Done done);
  void cancel(ExchangeId id);
  void call_at(SteadyTime when, std::move_only_function<void()> work);
  [[nodiscard]] bool on_loop_thread() const;

 private:
  class Impl;
  explicit HttpLoop(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
  Thread thread_;
};

}  // namespace millrace::s3
