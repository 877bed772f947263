// SPDX-License-Identifier: Apache-2.0
#include "store/s3/sso_source.h"

#include <fmt/format.h>

#include <utility>

#include "millrace/base/printable.h"
#include "store/s3/credential_json.h"
#include "store/s3/endpoint.h"
#include "store/s3/profile_files.h"
#include "store/s3/sso_token.h"
#include "store/s3/text_question.h"
#include "store/s3/uri_encoding.h"

namespace millrace::s3 {

namespace {

std::unexpected<Error> refuse(std::string why) { return fail(Error::fatal(ErrorCode::credentials, std::move(why))); }

Result<Credentials> parse_keys(const TextAnswer& answer, const SsoRole& role) {
  const int status = answer.head.status;
  const std::string login = fmt::format("run `aws sso login --profile {}`", printable(role.profile, 80));
  if (status == 401) return refuse(fmt::format("the single sign-on token is no longer taken; {}", login));
  if (status == 403 || status == 404) {
    return refuse(fmt::format("single sign-on answered {}: account {} has no role '{}' for this user", status,
                              printable(role.account_id, 40), printable(role.role_name, 80)));
  }
  if (status != 200) {
    const auto cls = status == 429 || status >= 500 ? ErrorClass::retryable : ErrorClass::fatal;
    return fail(Error(cls, ErrorCode::credentials, fmt::format("single sign-on answered {}", status)));
  }
  const auto document = CredentialJson::parse(answer.body);
  const auto keys = document ? document->object("roleCredentials") : std::nullopt;
  const double expires = keys ? keys->number("expiration").value_or(0) : 0;
  Credentials found;
  if (keys) {
    found.access_key_id = keys->text("accessKeyId");
    found.secret_access_key = keys->text("secretAccessKey");
    found.session_token = keys->text("sessionToken");
  }
  constexpr double kLongAfter = 1e14;  // in ms: a year that fits into microseconds
  if (found.access_key_id.empty() || found.secret_access_key.empty() || found.session_token.empty() ||
      !(expires > 0 && expires < kLongAfter)) {
    return fail(Error::retryable(ErrorCode::credentials, "the answer of single sign-on holds no whole credentials"));
  }
  found.expires = static_cast<UnixMicros>(expires) * 1000;
  found.provider = role.provider;
  return found;
}

// A token with less time left is renewed, where that can be done without a person.
constexpr UnixMicros kRenewAhead = 300 * UnixMicros{1'000'000};

class SsoSource final : public CredentialSource, public std::enable_shared_from_this<SsoSource> {
 public:
  SsoSource(SsoRole role, CredentialContext context)
      : role_(std::move(role)),
        context_(std::move(context)),
        login_(fmt::format("run `aws sso login --profile {}`", printable(role_.profile, 80))) {}

  void fetch(Done done) override {
    auto token = read_sso_token(role_.cache_key, context_.environment, login_);
    if (!token) return done(fail(std::move(token).error()));
    const bool ends_soon = token->expires - kRenewAhead <= context_.clock->unix_micros();
    if (!ends_soon || !token->renewable()) return ask_keys(*token, std::move(done));
    auto question = renewal_question(*token, role_.region, context_);
    if (!question) return done(fail(std::move(question).error().prefixed("single sign-on cannot be asked: ")));
    ask(*context_.loop, *std::move(question),
        [self = shared_from_this(), token = *std::move(token),
         done = std::move(done)](Result<TextAnswer> answer) mutable {
          // A token that is good for some minutes yet serves while it cannot be renewed.
          auto renewed = answer ? take_renewal(token, *answer, self->context_.clock->unix_micros()) : std::nullopt;
          self->ask_keys(renewed ? *renewed : token, std::move(done));
        });
  }
  [[nodiscard]] bool refreshable() const override { return true; }
  [[nodiscard]] std::string tried() const override { return role_.provider; }

 private:
  void ask_keys(const SsoToken& token, Done done) {
    if (token.expires <= context_.clock->unix_micros()) {
      return done(refuse(fmt::format("the single sign-on token {} ended at {}{}; {}", shown_path(token.path),
                                     token.shown_end, token.renewable() ? " and could not be renewed" : "", login_)));
    }
    std::string url = context_.environment("AWS_ENDPOINT_URL_SSO");
    if (url.empty()) url = fmt::format("https://portal.sso.{}.amazonaws.com", role_.region);
    const auto endpoint =
        Endpoint::make({.bucket = "", .region = "", .endpoint = url, .allow_http = context_.allow_http});
    if (!endpoint) return done(fail(Error(endpoint.error()).prefixed("single sign-on cannot be asked: ")));
    TextQuestion question;
    question.url =
        fmt::format("{}/federation/credentials?{}", endpoint->to_string(),
                    encode_query(QueryPairs{{"account_id", role_.account_id}, {"role_name", role_.role_name}}));
    question.headers = {{"Host", endpoint->host()}, {"x-amz-sso_bearer_token", token.access_token}};
    ask(*context_.loop, std::move(question), [role = role_, done = std::move(done)](Result<TextAnswer> answer) mutable {
      if (!answer) return done(fail(std::move(answer).error().prefixed("asking single sign-on: ")));
      done(parse_keys(*answer, role));
    });
  }

  const SsoRole role_;
  const CredentialContext context_;
  const std::string login_;
};

}  // namespace

std::shared_ptr<CredentialSource> make_sso_source(SsoRole role, CredentialContext context) {
  return std::make_shared<SsoSource>(std::move(role), std::move(context));
}

}  // namespace millrace::s3
