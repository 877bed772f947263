// SPDX-License-Identifier: Apache-2.0
// A source that polls an HTTP API page by page: each feed is a partition with a lane of its own.
#pragma once

#include <millrace/base/backoff.h>
#include <millrace/source/source.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

struct HttpSourceOptions {
  std::string url{};                 ///< of the API, without a path: "http://127.0.0.1:8081"
  std::vector<std::string> feeds{};  ///< their paths: "/orders"; partitions are numbered in this order
  std::string positions{};           ///< the file that keeps how far each feed is settled
  bool follow = false;               ///< wait for more where a feed has no more; otherwise that is its end
  std::string token{};               ///< a bearer token, where the API asks for one
  int page_size = 500;
  millrace::Duration poll_interval = std::chrono::seconds(1);  ///< between looks at a feed that has no more
  millrace::Duration timeout = std::chrono::seconds(10);       ///< of a request
  millrace::BackoffOptions backoff{};
};

class HttpSource {
 public:
  [[nodiscard]] static millrace::Result<std::unique_ptr<millrace::Source>> make(HttpSourceOptions options);
};
