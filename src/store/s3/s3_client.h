// SPDX-License-Identifier: Apache-2.0
// S3Client: signs and sends calls to one bucket, tries once more where something can be set right (region, clock,
// credentials, a stale connection), and turns what is left into an Error. Lives on the loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "store/s3/answer_sink.h"
#include "store/s3/credential_keeper.h"
#include "store/s3/endpoint.h"
#include "store/s3/failure.h"
#include "store/s3/hidden_secrets.h"
#include "store/s3/http_exchange.h"
#include "store/s3/http_loop.h"

namespace millrace::s3 {

struct S3Request {
  HttpMethod method = HttpMethod::get;
  std::string key;     ///< empty: the bucket
  std::string query;   ///< encoded
  HeaderList headers;  ///< all are signed
  std::string_view body;
  std::size_t expected_bytes = 0;  ///< of the body of the answer, where it is known
  std::string payload;             ///< hash of the body or kUnsignedPayload
  std::optional<Duration> timeout;
  std::string doing;  ///< begins every message: "reading s3://b/k"
};

class S3Client {
 public:
  struct Options {
    Endpoint endpoint;
    std::string region;
    bool requester_pays = false;
    std::vector<std::string> secrets;  ///< beside the credentials: shown in no message; longest first
  };
  using CallId = std::uint64_t;
  using Done = std::move_only_function<void(Result<HttpHead>)>;

  /// Without a source requests go out unsigned. `loop` and `clock` outlive the client's last call.
  S3Client(HttpLoop& loop, Options options, std::shared_ptr<CredentialSource> source, Clock& clock, Logger log);
  ~S3Client();
  S3Client(const S3Client&) = delete;
  S3Client& operator=(const S3Client&) = delete;

  /// `sink` and the request's body stay valid until `done`, which is called once. `id` is the caller's, never used
  /// twice.
  void start(CallId id, S3Request request, AnswerSink& sink, Done done);
  void cancel(CallId id);
  /// Ends every call, also those that wait for credentials, with `cancelled`.
  void cancel_all();

  /// Of a text that a server sent. Any thread.
  void hide_secrets(std::string& text) const { secrets_.hide(text); }

 private:
  class Call;
  [[nodiscard]] Call* find(CallId id);
  void attempt(Call& call);
  void send(Call& call, const CredentialIssue* issue);
  void ended(CallId id, HttpOutcome outcome);
  void refused(Call& call, const HttpOutcome& outcome);
  /// True when the call is on its way once more.
  bool set_right(Call& call, const S3Failure& failure, bool reused_connection);
  void renew_and_retry(Call& call, S3Failure failure);
  [[nodiscard]] Error explain(const Call& call, const S3Failure& failure) const;
  void fail_call(Call& call, Error error);
  void finish(Call& call, Result<HttpHead> result);

  HttpLoop& loop_;
  Options options_;
  Clock& clock_;
  const Logger log_;
  std::optional<CredentialKeeper> keeper_;
  std::shared_ptr<const Credentials> in_use_;
  HiddenSecrets secrets_;
  UnixMicros clock_offset_ = 0;  // of the server's clock to ours, once it has refused ours
  std::unordered_map<CallId, std::unique_ptr<Call>> calls_;
};

}  // namespace millrace::s3
