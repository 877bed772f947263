// SPDX-License-Identifier: Apache-2.0
#include "store/s3/s3_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "millrace/base/check.h"
#include "millrace/base/printable.h"
#include "store/s3/aws_chain.h"
#include "store/s3/proxy_url.h"
#include "store/s3/signer.h"
#include "store/s3/xml_answer.h"

namespace millrace::s3 {

namespace {

// Lets a blocking call wait for the loop thread.
class Answer {
 public:
  void set(Result<HttpHead> result) {
    const MutexLock lock(mutex_);
    result_ = std::move(result);
    arrived_.notify_one();
  }
  Result<HttpHead> wait() {
    const MutexLock lock(mutex_);
    while (!result_) arrived_.wait(mutex_);
    return *std::move(result_);
  }

 private:
  Mutex mutex_;
  CondVar arrived_;
  std::optional<Result<HttpHead>> result_ MILLRACE_GUARDED_BY(mutex_);
};

std::vector<std::string> secrets_of(const S3Options& options) {
  std::vector<std::string> secrets = secrets_of_proxy(options.proxy_url);
  if (!options.chain.external_id.empty()) secrets.push_back(options.chain.external_id);
  std::ranges::sort(secrets, std::ranges::greater{}, &std::string::size);
  return secrets;
}

}  // namespace

S3Session::S3Session(const S3Options& options, const StoreContext& context, Endpoint endpoint,
                     std::unique_ptr<HttpLoop> loop)
    : options_(options), loop_(std::move(loop)) {
  std::shared_ptr<CredentialSource> source;
  if (!options.skip_signature) {
    if (options.keys) source = make_static_credentials(*options.keys);
    source =
        make_credential_source(std::move(source), options.chain,
                               {loop_.get(), context.clock, options.environment, options.region, options.allow_http});
  }
  client_ = std::make_unique<S3Client>(
      *loop_, S3Client::Options{std::move(endpoint), options.region, options.requester_pays, secrets_of(options)},
      std::move(source), *context.clock, context.log.named("s3"));
}

S3Session::~S3Session() {
  // Calls that wait for credentials have no transfer that the loop could end.
  loop_->post([this] { client_->cancel_all(); });
}

std::string S3Session::name_of(std::string_view key) const { return describe() + "/" + printable(key); }

S3Request S3Session::request(HttpMethod method, std::string_view key, std::string_view doing) const {
  S3Request request;
  request.method = method;
  request.key = key;
  request.payload = options_.unsigned_payload ? kUnsignedPayload : kEmptyPayload;
  request.timeout = options_.request_timeout;
  request.doing = fmt::format("{} {}", doing, name_of(key));
  return request;
}

void S3Session::give_body(S3Request& request, std::string_view body) const {
  request.body = body;
  if (!options_.unsigned_payload) request.payload = sha256_hex(body);
}

Result<HttpHead> S3Session::run(S3Request request, AnswerSink& sink) {
  MILLRACE_CHECK(!on_loop_thread(), "a blocking call of a store within one of its own completions waits for itself");
  Answer answer;
  loop_->post([&, id = next_call()] {
    client_->start(id, std::move(request), sink, [&](Result<HttpHead> result) { answer.set(std::move(result)); });
  });
  return answer.wait();
}

Result<HttpHead> S3Session::run_for_head(S3Request request) {
  const std::string doing = request.doing;
  ShortSink sink;
  MILLRACE_ASSIGN(HttpHead head, run(std::move(request), sink));
  if (parse_error_xml(sink.text())) return fail(refusal_in(head, sink.text(), doing));
  return head;
}

Result<std::string> S3Session::run_for_xml(S3Request request, std::size_t longest) {
  const std::string doing = request.doing;
  TextSink sink(longest);
  MILLRACE_ASSIGN(const HttpHead head, run(std::move(request), sink));
  if (parse_error_xml(sink.text())) return fail(refusal_in(head, sink.text(), doing));
  return std::move(sink.text());
}

Error S3Session::refusal_in(const HttpHead& head, std::string_view body, std::string_view doing) const {
  S3Failure failure = read_failure(head, body, 0);
  client_->hide_secrets(failure.message);
  return error_of(failure, doing);
}

void S3Session::cancel_all() {
  loop_->cancel_all();
  loop_->post([this] { client_->cancel_all(); });
}

}  // namespace millrace::s3
