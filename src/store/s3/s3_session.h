// SPDX-License-Identifier: Apache-2.0
// S3Session: one bucket's client with the loop thread that it lives on, and calls that wait for their answer. Any
// thread, but never one of its own completions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/base/sync.h"
#include "millrace/store/store_url.h"
#include "store/s3/answer_sink.h"
#include "store/s3/endpoint.h"
#include "store/s3/http_loop.h"
#include "store/s3/s3_client.h"
#include "store/s3/s3_options.h"

namespace millrace::s3 {

class S3Session {
 public:
  S3Session(const S3Options& options, const StoreContext& context, Endpoint endpoint, std::unique_ptr<HttpLoop> loop);
  ~S3Session();
  S3Session(const S3Session&) = delete;
  S3Session& operator=(const S3Session&) = delete;

  [[nodiscard]] std::string describe() const { return "s3://" + options_.bucket; }
  [[nodiscard]] std::string name_of(std::string_view key) const;

  /// A request without body; `doing` begins every message about it: "reading".
  [[nodiscard]] S3Request request(HttpMethod method, std::string_view key, std::string_view doing) const;
  /// Gives it a body, which stays valid until the answer.
  void give_body(S3Request& request, std::string_view body) const;
  /// Runs it on the loop thread and waits.
  [[nodiscard]] Result<HttpHead> run(S3Request request, AnswerSink& sink);
  // A document that is an error is one, whatever the status: S3 answers a completion with 200 before it knows.

  /// Runs one whose answer is told by its head.
  [[nodiscard]] Result<HttpHead> run_for_head(S3Request request);
  /// Runs one whose answer is a document of at most `longest` bytes.
  [[nodiscard]] Result<std::string> run_for_xml(S3Request request, std::size_t longest);

  // For calls that do not wait.
  [[nodiscard]] S3Client::CallId next_call() { return last_call_.fetch_add(1) + 1; }
  [[nodiscard]] S3Client& client() { return *client_; }
  [[nodiscard]] HttpLoop& loop() { return *loop_; }
  [[nodiscard]] bool on_loop_thread() const { return loop_->on_loop_thread(); }
  void cancel_all();

 private:
  /// What an answer says whose status is a success and whose body is an error, without secrets.
  [[nodiscard]] Error refusal_in(const HttpHead& head, std::string_view body, std::string_view doing) const;

  const S3Options options_;
  Atomic<std::uint64_t> last_call_{0};
  std::unique_ptr<S3Client> client_;
  std::unique_ptr<HttpLoop> loop_;  // last: its thread uses the rest, and is joined first
};

}  // namespace millrace::s3
