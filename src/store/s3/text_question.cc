// SPDX-License-Identifier: Apache-2.0
#include "store/s3/text_question.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <utility>

#include "millrace/base/printable.h"
#include "millrace/base/time.h"

namespace millrace::s3 {

namespace {

constexpr std::size_t kLongestAnswer = 1U << 20U;
constexpr Duration kLongestExchange = std::chrono::seconds(5);
constexpr int kTries = 3;
constexpr Duration kFirstPause = std::chrono::milliseconds(200);  // doubled before the third try

// Lives as long as a callback of the loop holds it.
class Exchange final : public HttpReceiver, public std::enable_shared_from_this<Exchange> {
 public:
  using Done = std::move_only_function<void(Result<TextAnswer>)>;
  Exchange(HttpLoop& loop, TextQuestion question, Done done)
      : loop_(loop), question_(std::move(question)), done_(std::move(done)) {}

  void send() {
    ++tries_;
    answer_ = {};
    HttpRequest request;
    request.method = question_.method;
    request.url = question_.url;
    request.headers = question_.headers;
    request.body = question_.body;
    request.timeout = kLongestExchange;
    request.fresh_connection = tries_ > 1;
    loop_.send(std::move(request), *this,
               [self = shared_from_this()](HttpOutcome outcome) { self->ended(std::move(outcome)); });
  }
  bool on_head(const HttpHead& /*head*/) override { return true; }
  bool on_body(std::string_view bytes) override {
    if (answer_.body.size() + bytes.size() > kLongestAnswer) return false;
    answer_.body += bytes;
    return true;
  }

 private:
  void ended(HttpOutcome outcome) {
    const int status = outcome.head.status;
    const bool answered = outcome.failure == TransportFailure::none;
    const bool may_pass = answered ? status == 429 || status >= 500
                                   : outcome.failure != TransportFailure::cancelled &&
                                         outcome.failure != TransportFailure::certificate &&
                                         outcome.failure != TransportFailure::request_timeout &&
                                         outcome.failure != TransportFailure::stopped_by_sink;
    if (may_pass && tries_ < kTries) {
      loop_.call_at(Clock::real().now() + kFirstPause * tries_, [self = shared_from_this()] { self->send(); });
      return;
    }
    if (answered) {
      answer_.head = std::move(outcome.head);
      done_(std::move(answer_));
      return;
    }
    const auto cls = outcome.failure == TransportFailure::certificate ? ErrorClass::fatal : ErrorClass::retryable;
    const std::string detail = outcome.failure == TransportFailure::stopped_by_sink
                                   ? fmt::format("the answer is longer than {} bytes", kLongestAnswer)
                                   : printable(outcome.detail, 300);
    done_(fail(Error(cls, ErrorCode::credentials, detail)));
  }

  HttpLoop& loop_;
  const TextQuestion question_;
  Done done_;
  TextAnswer answer_;
  int tries_ = 0;
};

}  // namespace

void ask(HttpLoop& loop, TextQuestion question, std::move_only_function<void(Result<TextAnswer>)> done) {
  auto exchange = std::make_shared<Exchange>(loop, std::move(question), std::move(done));
  loop.post([exchange = std::move(exchange)] { exchange->send(); });
}

}  // namespace millrace::s3
