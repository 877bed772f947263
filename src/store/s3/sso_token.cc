// SPDX-License-Identifier: Apache-2.0
#include "store/s3/sso_token.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <utility>

#include "millrace/base/printable.h"
#include "store/s3/credential_json.h"
#include "store/s3/endpoint.h"
#include "store/s3/profile_files.h"

namespace millrace::s3 {

namespace {

std::string sha1_hex(std::string_view bytes) {
  std::array<unsigned char, 20> digest{};
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha1(), nullptr);
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::unexpected<Error> refuse(std::string why) { return fail(Error::fatal(ErrorCode::credentials, std::move(why))); }

// Readable by its owner only, and never half written.
void replace_file(const std::string& path, std::string_view text) {
  const std::string fresh = fmt::format("{}.millrace-{}", path, ::getpid());
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return;
  const bool whole = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(file);
  if (!whole || std::rename(fresh.c_str(), path.c_str()) != 0) ::unlink(fresh.c_str());
}

}  // namespace

Result<SsoToken> read_sso_token(std::string_view cache_key, const Environment& environment, std::string_view login) {
  SsoToken token;
  token.path = fmt::format("{}/.aws/sso/cache/{}.json", environment("HOME"), sha1_hex(cache_key));
  std::ifstream file(token.path, std::ios::binary);
  if (!file) return refuse(fmt::format("there is no single sign-on token {}; {}", shown_path(token.path), login));
  token.document.assign(std::istreambuf_iterator<char>(file), {});
  const auto document = CredentialJson::parse(token.document);
  const auto expires = document ? credential_time(document->text("expiresAt")) : std::nullopt;
  if (document) token.access_token = document->text("accessToken");
  if (token.access_token.empty() || !expires || token.access_token.find_first_of("\r\n") != std::string::npos) {
    return refuse(fmt::format("{} is no single sign-on token; {}", shown_path(token.path), login));
  }
  token.shown_end = printable(document->text("expiresAt"), 40);
  token.expires = *expires;
  token.refresh_token = document->text("refreshToken");
  token.client_id = document->text("clientId");
  token.client_secret = document->text("clientSecret");
  return token;
}

Result<TextQuestion> renewal_question(const SsoToken& token, std::string_view region,
                                      const CredentialContext& context) {
  std::string url = context.environment("AWS_ENDPOINT_URL_SSO_OIDC");
  if (url.empty()) url = fmt::format("https://oidc.{}.amazonaws.com", region);
  MILLRACE_ASSIGN(const Endpoint endpoint,
                  Endpoint::make({.bucket = "", .region = "", .endpoint = url, .allow_http = context.allow_http}));
  TextQuestion question;
  question.method = HttpMethod::post;
  question.url = endpoint.to_string() + "/token";
  question.headers = {{"Host", endpoint.host()}, {"Content-Type", "application/json"}};
  question.body = with_texts("{}", {{"clientId", token.client_id},
                                    {"clientSecret", token.client_secret},
                                    {"grantType", "refresh_token"},
                                    {"refreshToken", token.refresh_token}});
  return question;
}

std::optional<SsoToken> take_renewal(SsoToken token, const TextAnswer& answer, UnixMicros now) {
  const auto document = answer.head.status == 200 ? CredentialJson::parse(answer.body) : std::nullopt;
  const auto lasts = document ? document->number("expiresIn") : std::nullopt;
  const std::string access_token = document ? document->text("accessToken") : std::string();
  constexpr double kYear = 366.0 * 86'400;
  if (access_token.empty() || access_token.find_first_of("\r\n") != std::string::npos || !lasts ||
      !(*lasts > 0 && *lasts <= kYear)) {
    return std::nullopt;
  }
  token.access_token = access_token;
  token.expires = now + static_cast<UnixMicros>(*lasts * 1e6);
  const auto end = static_cast<std::time_t>(token.expires / 1'000'000);
  token.shown_end = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(end));
  if (const std::string next = document->text("refreshToken"); !next.empty()) token.refresh_token = next;
  token.document = with_texts(
      token.document,
      {{"accessToken", token.access_token}, {"expiresAt", token.shown_end}, {"refreshToken", token.refresh_token}});
  replace_file(token.path, token.document);
  return token;
}

}  // namespace millrace::s3
