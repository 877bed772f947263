// SPDX-License-Identifier: Apache-2.0
// CurlTransfer: one libcurl easy handle, set up once and used for one request after another. Loop thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "store/s3/http_exchange.h"
#include "store/s3/http_loop.h"

namespace millrace::s3 {

/// The functions of libcurl that must run before any other. Thread-safe.
void prepare_curl();

class CurlTransfer {
 public:
  explicit CurlTransfer(const HttpLoopOptions& options);
  ~CurlTransfer();
  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;

  /// Fills the handle for `request`; `receiver` gets what arrives.
  void begin(std::uint64_t id, HttpRequest request, HttpReceiver& receiver, HttpLoop::Done done);
  /// How it ended, from libcurl's result (a CURLcode).
  [[nodiscard]] HttpOutcome outcome(int result);
  [[nodiscard]] HttpLoop::Done take_done() { return std::move(done_); }
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] void* easy() const { return easy_; }  ///< a CURL*

 private:
  static std::size_t on_header(char* line, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* self);
  static std::size_t on_read(char* to, std::size_t size, std::size_t count, void* self);
  static int on_seek(void* self, std::int64_t offset, int origin);
  bool take_header_line(std::string_view line);
  [[nodiscard]] bool proxy_text() const;
  [[nodiscard]] TransportFailure failure_of(int result) const;

  void* easy_;
  void* header_list_ = nullptr;  // a curl_slist*
  char error_[256] = {};
  const Duration connect_timeout_;
  const bool proxied_;  // each request goes through the proxy of the options
  std::uint64_t id_ = 0;
  HttpRequest request_;
  std::size_t body_sent_ = 0;
  HttpReceiver* receiver_ = nullptr;
  HttpLoop::Done done_;
  HttpHead head_;
  bool head_told_ = false;
  bool refused_ = false;  // the receiver returned false
};

}  // namespace millrace::s3
