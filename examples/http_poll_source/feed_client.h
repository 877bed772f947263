// SPDX-License-Identifier: Apache-2.0
// FeedClient: asks an HTTP API for one feed, page by page.
//
//   GET /orders?from=1500&limit=500
//   {"items": [{"offset": 1500, "record": {...}}, {"offset": 1502, "record": {...}}], "next": 2000, "more": true}
//
// An item keeps its offset for good; offsets rise, and some may be missing. `next` is where the next page begins,
// `more` whether anything is there already.
#pragma once

#include <millrace/base/ids.h>
#include <millrace/base/result.h>
#include <millrace/base/time.h>
#include <millrace/decode/json_cursor.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace httplib {
class Client;
struct Response;
}  // namespace httplib

/// What one request brought. `records` and their padding lie in `body`, so a page stays where it is.
struct Page {
  std::string body;
  std::vector<std::string_view> records;
  std::vector<millrace::Offset> offsets;
  millrace::Offset next;
  bool more = false;
};

class FeedClient {
 public:
  struct Options {
    std::string url;    ///< of the API: "http://127.0.0.1:8081"
    std::string feed;   ///< its path: "/orders"
    std::string token;  ///< sent as a bearer token where there is one; no message holds it
    int page_size = 500;
    millrace::Duration timeout = std::chrono::seconds(10);  ///< for connecting, and for each part of an answer
  };
  explicit FeedClient(Options options);
  ~FeedClient();

  /// One request, one try. Blocks. Errors have their class: retryable is what may pass.
  [[nodiscard]] millrace::Result<std::unique_ptr<Page>> get(millrace::Offset from);
  /// A get under way ends soon, with an error. Any thread.
  void stop();
  /// "http://127.0.0.1:8081/orders", for messages.
  [[nodiscard]] std::string place() const { return options_.url + options_.feed; }

 private:
  [[nodiscard]] millrace::Error refusal(const httplib::Response& answer) const;
  [[nodiscard]] millrace::Result<std::unique_ptr<Page>> read(std::string body, millrace::Offset from);

  const Options options_;
  const std::unique_ptr<httplib::Client> http_;
  millrace::JsonCursor json_;
};
