// SPDX-License-Identifier: Apache-2.0
// FeedApi: an HTTP API as examples/http_poll_source reads it, on a free loopback port, with faults in place of its next
// answers. Each feed has items at even offsets, so that some are missing. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace httplib {
struct Response;
}  // namespace httplib

namespace millrace::tutorial {

class FeedApi {
 public:
  /// Makes an answer what it should not be.
  using Fault = std::function<void(httplib::Response&)>;

  /// So many items in each of these feeds.
  explicit FeedApi(std::map<std::string, int> feeds);
  ~FeedApi();

  [[nodiscard]] std::string url() const;
  /// One more at the end of a feed.
  void add(const std::string& feed);
  /// The next answers are these, one each.
  void next_answers(std::vector<Fault> faults);
  /// Every answer from now on is this.
  void all_answers(Fault fault);
  /// A fault: an answer that begins, and goes on only when the API goes.
  [[nodiscard]] Fault silence();
  /// The targets of all requests so far, in their order: "/orders?from=0&limit=2".
  [[nodiscard]] std::vector<std::string> asked() const;
  /// What their Authorization headers said.
  [[nodiscard]] std::vector<std::string> tokens() const;
  /// Waits (in real time) until there were so many requests; false when there never were.
  [[nodiscard]] bool wait_for_requests(std::size_t count) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The record at `offset` of any feed.
[[nodiscard]] std::string feed_record(std::int64_t offset);

// Faults.
[[nodiscard]] FeedApi::Fault status(int code, std::string retry_after = {});
[[nodiscard]] FeedApi::Fault body(std::string text);
/// Says that it is longer than it is, and breaks off.
[[nodiscard]] FeedApi::Fault breaks_off();

}  // namespace millrace::tutorial
