// SPDX-License-Identifier: Apache-2.0
#include "store/s3/s3_client.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <utility>
#include <vector>

#include "millrace/base/printable.h"
#include "store/s3/signer.h"

namespace millrace::s3 {

namespace {

constexpr std::size_t kErrorBodyLimit = 64U << 10U;

bool success(int status) { return status >= 200 && status < 300; }

/// Why the server may find a request's time wrong. It allows a quarter of an hour, so a clock that is off by less than
/// a minute is not the reason.
std::string clock_text(std::optional<UnixMicros> servers, UnixMicros ours) {
  if (!servers) return "this machine's clock may be off; the answer does not tell the server's";
  const std::int64_t skew = (*servers - ours) / 1'000'000;
  if (std::abs(skew) >= 60) {
    return fmt::format("this machine's clock is {} s {} the server's", std::abs(skew),
                       skew > 0 ? "behind" : "ahead of");
  }
  return "this machine's clock agrees with the answer's Date; something in between may hold requests back, or write "
         "the "
         "Date itself";
}

std::string region_text(const std::string& told, const std::string& signed_for) {
  const std::string region = printable(told, 40);
  if (told != signed_for) {
    return fmt::format("the bucket is in region '{}' and the request was signed for '{}'", region, signed_for);
  }
  return fmt::format(
      "the request was signed for region '{}', and the server names the same one, so it is the endpoint "
      "that is not the bucket's",
      region);
}

}  // namespace

// One call on its way, and what has been tried for it. Each remedy is tried once.
class S3Client::Call final : public HttpReceiver {
 public:
  Call(CallId the_id, S3Request the_request, AnswerSink& the_sink, Done the_done)
      : id(the_id), request(std::move(the_request)), sink(the_sink), done(std::move(the_done)) {}

  bool on_head(const HttpHead& head) override {
    in_error = !success(head.status);
    error_body.clear();
    if (in_error) return true;
    return keep(sink.begin(head));
  }
  bool on_body(std::string_view bytes) override {
    if (!in_error) return keep(sink.write(bytes));
    error_body.append(bytes.substr(0, kErrorBodyLimit - error_body.size()));
    return true;
  }
  bool keep(Result<void> result) {
    if (result) return true;
    sink_error = std::move(result).error();
    return false;
  }

  const CallId id;
  S3Request request;
  AnswerSink& sink;
  Done done;
  std::optional<HttpLoop::ExchangeId> exchange;
  std::uint64_t generation = 0;  // of the credentials it was signed with
  std::string signed_region;
  bool in_error = false;
  std::string error_body;
  std::optional<Error> sink_error;
  bool fresh_connection = false;
  bool tried_region = false;
  bool tried_clock = false;
  bool tried_credentials = false;
};

S3Client::S3Client(HttpLoop& loop, Options options, std::shared_ptr<CredentialSource> source, Clock& clock, Logger log)
    : loop_(loop),
      options_(std::move(options)),
      clock_(clock),
      log_(std::move(log)),
      secrets_(std::exchange(options_.secrets, {})) {
  if (!source) return;
  CredentialKeeper::Thread thread;
  thread.post = loop.poster();
  thread.call_at = [&loop](SteadyTime when, std::move_only_function<void()> work) {
    loop.call_at(when, std::move(work));
  };
  thread.now = [] { return Clock::real().now(); };
  keeper_.emplace(std::move(source), clock, log_, std::move(thread));
}

S3Client::~S3Client() = default;

S3Client::Call* S3Client::find(CallId id) {
  const auto found = calls_.find(id);
  return found == calls_.end() ? nullptr : found->second.get();
}

void S3Client::start(CallId id, S3Request request, AnswerSink& sink, Done done) {
  auto call = std::make_unique<Call>(id, std::move(request), sink, std::move(done));
  Call& started = *call;
  calls_.emplace(id, std::move(call));
  attempt(started);
}

void S3Client::attempt(Call& call) {
  if (!keeper_) return send(call, nullptr);
  keeper_->get([this, id = call.id](Result<CredentialIssue> issue) {
    Call* waiting = find(id);
    if (waiting == nullptr) return;  // cancelled meanwhile
    if (!issue) return fail_call(*waiting, std::move(issue).error());
    send(*waiting, &*issue);
  });
}

void S3Client::send(Call& call, const CredentialIssue* issue) {
  const std::string target = options_.endpoint.target(call.request.key, call.request.query);
  HeaderList headers = call.request.headers;
  headers.emplace_back("Host", options_.endpoint.host());
  if (options_.requester_pays) headers.emplace_back("x-amz-request-payer", "requester");
  if (issue != nullptr) {
    const SigningInput input{to_string(call.request.method), target,          headers,
                             call.request.payload,           options_.region, clock_.unix_micros() + clock_offset_};
    auto added = sign(input, *issue->credentials);
    if (!added) return fail_call(call, std::move(added).error());
    for (auto& header : *added) headers.push_back(std::move(header));
    call.generation = issue->generation;
    in_use_ = issue->credentials;
    secrets_.use(in_use_);
  }
  call.signed_region = options_.region;
  call.sink_error.reset();
  HttpRequest http;
  http.method = call.request.method;
  http.url = options_.endpoint.url(target);
  http.headers = std::move(headers);
  http.body = call.request.body;
  http.timeout = call.request.timeout;
  http.expected_bytes = call.request.expected_bytes;
  http.fresh_connection = call.fresh_connection;
  call.exchange =
      loop_.send(std::move(http), call, [this, id = call.id](HttpOutcome outcome) { ended(id, std::move(outcome)); });
}

void S3Client::ended(CallId id, HttpOutcome outcome) {
  Call* call = find(id);
  if (call == nullptr) return;
  call->exchange.reset();
  const bool answered = outcome.head.status != 0;
  // A refusal whose body was cut short is still that refusal.
  const bool refusal = answered && call->in_error && outcome.failure != TransportFailure::cancelled;
  if (refusal) return refused(*call, outcome);
  if (outcome.failure == TransportFailure::none) {
    if (auto whole = call->sink.end(); !whole) return fail_call(*call, std::move(whole).error());
    return finish(*call, std::move(outcome.head));
  }
  if (outcome.failure == TransportFailure::stopped_by_sink && call->sink_error) {
    return fail_call(*call, std::move(*call->sink_error));
  }
  // The server closed a kept-alive connection just as it was taken: nobody's fault, and not one of the caller's tries.
  const bool stale = outcome.failure == TransportFailure::broken && outcome.reused_connection && !answered;
  if (stale && !call->fresh_connection) {
    call->fresh_connection = true;
    return attempt(*call);
  }
  hide_secrets(outcome.detail);
  finish(*call, fail(error_of(outcome, call->request.doing, options_.endpoint.to_string())));
}

void S3Client::refused(Call& call, const HttpOutcome& outcome) {
  S3Failure failure = read_failure(outcome.head, call.error_body, clock_.unix_micros() + clock_offset_);
  hide_secrets(failure.message);
  if (set_right(call, failure, outcome.reused_connection)) return;
  finish(call, fail(explain(call, failure)));
}

bool S3Client::set_right(Call& call, const S3Failure& failure, bool reused_connection) {
  switch (remedy_for(failure, call.request.method)) {
    case Remedy::none:
      return false;
    case Remedy::other_region:
      if (call.tried_region || failure.region == call.signed_region) return false;
      if (failure.region != options_.region) {
        log_.warn("the bucket is in another region; set store.region to save a round trip",
                  {{"region", printable(failure.region, 40)}, {"signed_for", options_.region}});
        options_.region = failure.region;
        options_.endpoint = options_.endpoint.in_region(failure.region);
      }
      call.tried_region = true;
      attempt(call);
      return true;
    case Remedy::clock_offset:
      if (call.tried_clock || !failure.date) return false;
      clock_offset_ = *failure.date - clock_.unix_micros();
      log_.warn("this machine's clock is off; signing by the server's",
                {{"offset_seconds", fmt::format("{}", clock_offset_ / 1'000'000)}});
      call.tried_clock = true;
      attempt(call);
      return true;
    case Remedy::other_credentials:
      if (call.tried_credentials || !keeper_ || !keeper_->refreshable()) return false;
      call.tried_credentials = true;
      renew_and_retry(call, failure);
      return true;
    case Remedy::fresh_connection:
      if (call.fresh_connection || !reused_connection) return false;
      call.fresh_connection = true;
      attempt(call);
      return true;
  }
  return false;
}

void S3Client::renew_and_retry(Call& call, S3Failure failure) {
  keeper_->renew_after_refusal(call.generation,
                               [this, id = call.id, failure = std::move(failure)](Result<CredentialIssue> issue) {
                                 Call* waiting = find(id);
                                 if (waiting == nullptr) return;
                                 if (!issue || issue->generation <= waiting->generation)
                                   return finish(*waiting, fail(explain(*waiting, failure)));
                                 send(*waiting, &*issue);
                               });
}

Error S3Client::explain(const Call& call, const S3Failure& failure) const {
  const Remedy remedy = remedy_for(failure, call.request.method);
  std::string doing = call.request.doing;
  if (remedy == Remedy::other_region) {
    doing += ": " + region_text(failure.region, call.signed_region);
  } else if (remedy == Remedy::clock_offset) {
    doing += ": " + clock_text(failure.date, clock_.unix_micros());
  }
  Error error = error_of(failure, doing);
  const bool reads_object = call.request.method == HttpMethod::get && !call.request.key.empty();
  if (reads_object && error.code() == ErrorCode::not_supported && failure.code != "InvalidObjectState") {
    // Of a read, not_supported says one thing only: the object is archived. A whole object may be left out on that
    // word.
    return std::move(error).as(ErrorClass::fatal, ErrorCode::invalid_request);
  }
  if (error.code() != ErrorCode::credentials || !in_use_) return error;
  error.with("credentials_from", in_use_->provider);
  if (remedy != Remedy::other_credentials) return error;
  error = error_of(failure, fmt::format("{}: the credentials from {} were refused", doing, in_use_->provider));
  // The next try may find renewed ones; keys from the options cannot change.
  return keeper_->refreshable() ? std::move(error).as(ErrorClass::retryable) : error;
}

void S3Client::fail_call(Call& call, Error error) {
  finish(call, fail(std::move(error).prefixed(call.request.doing + ": ")));
}

void S3Client::finish(Call& call, Result<HttpHead> result) {
  const auto entry = calls_.extract(call.id);
  entry.mapped()->done(std::move(result));
}

void S3Client::cancel(CallId id) {
  Call* call = find(id);
  if (call == nullptr) return;
  if (call->exchange) return loop_.cancel(*call->exchange);  // ends in `ended`
  finish(*call, fail(Error::fatal(ErrorCode::cancelled, call->request.doing + ": cancelled")));
}

void S3Client::cancel_all() {
  // Those that the loop has refused already end by themselves, a little later.
  std::vector<CallId> ids;
  ids.reserve(calls_.size());
  for (const auto& [id, call] : calls_) ids.push_back(id);
  for (const CallId id : ids) cancel(id);
}

}  // namespace millrace::s3
