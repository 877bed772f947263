// SPDX-License-Identifier: Apache-2.0
#include "store/s3/sts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <pugixml.hpp>
#include <utility>

#include "millrace/base/printable.h"
#include "store/s3/endpoint.h"
#include "store/s3/http_date.h"
#include "store/s3/uri_encoding.h"
#include "store/s3/xml_answer.h"

namespace millrace::s3 {

namespace {

std::string aws_sts(std::string_view region) {
  return fmt::format("https://sts.{}.amazonaws.com{}", region, region.starts_with("cn-") ? ".cn" : "");
}

QueryPairs form(std::string_view action, const Role& role, const Environment& environment) {
  std::string session = role.session_name;
  if (session.empty()) session = environment("AWS_ROLE_SESSION_NAME");
  if (session.empty()) session = fmt::format("millrace-{}", ::getpid());
  QueryPairs pairs = {{"Action", std::string(action)},
                      {"Version", "2011-06-15"},
                      {"RoleArn", role.arn},
                      {"RoleSessionName", std::move(session)}};
  if (!role.duration.empty()) pairs.emplace_back("DurationSeconds", role.duration);
  return pairs;
}

// The one child whose name ends so, whatever the action.
pugi::xml_node child_ending(const pugi::xml_node& parent, std::string_view end) {
  for (const pugi::xml_node& node : parent.children()) {
    if (std::string_view(node.name()).ends_with(end)) return node;
  }
  return {};
}

Error refusal(const TextAnswer& answer, std::string_view asked) {
  const int status = answer.head.status;
  std::string said = fmt::format("{}", status);
  bool throttled = status == 429 || status >= 500;
  if (const auto error = parse_error_xml(answer.body)) {
    said += fmt::format(" {} ({})", printable(error->code, 80), printable(error->message, 300));
    throttled = throttled || error->code.starts_with("Throttling") || error->code == "IDPCommunicationError";
  }
  const auto cls = throttled ? ErrorClass::retryable : ErrorClass::fatal;
  return {cls, ErrorCode::credentials, fmt::format("{}: STS answered {}", asked, said)};
}

}  // namespace

Result<StsAddress> sts_address(const CredentialContext& context, std::string_view region) {
  const std::string_view chosen = region.empty() ? std::string_view(context.region) : region;
  std::string url;
  for (const char* name : {"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"}) {
    if (url.empty()) url = context.environment(name);
  }
  if (url.empty()) url = aws_sts(chosen);
  auto endpoint = Endpoint::make({.bucket = "", .region = "", .endpoint = url, .allow_http = context.allow_http});
  if (!endpoint) return fail(std::move(endpoint).error().prefixed("the address of STS cannot be used: "));
  const std::string target = endpoint->target("", "");
  return StsAddress{endpoint->url(target), endpoint->host(), target};
}

std::string assume_role_form(const Role& role, const Environment& environment) {
  QueryPairs pairs = form("AssumeRole", role, environment);
  if (!role.external_id.empty()) pairs.emplace_back("ExternalId", role.external_id);
  return encode_query(std::move(pairs));
}

std::string web_identity_form(const Role& role, std::string_view token, const Environment& environment) {
  QueryPairs pairs = form("AssumeRoleWithWebIdentity", role, environment);
  pairs.emplace_back("WebIdentityToken", std::string(token));
  return encode_query(std::move(pairs));
}

Result<Credentials> parse_sts_answer(const TextAnswer& answer, std::string_view asked) {
  if (answer.head.status != 200) return fail(refusal(answer, asked));
  const auto bad = [&](std::string_view why) {
    return fail(Error::retryable(ErrorCode::credentials, fmt::format("{}: the answer is not STS's: {}", asked, why)));
  };
  pugi::xml_document document;
  const auto parsed =
      document.load_buffer(answer.body.data(), answer.body.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!parsed) return bad("it is no XML");
  const pugi::xml_node keys = child_ending(child_ending(child_ending(document, "Response"), "Result"), "Credentials");
  if (!keys) return bad("it holds no credentials");
  Credentials found;
  found.access_key_id = child_ending(keys, "AccessKeyId").text().get();
  found.secret_access_key = child_ending(keys, "SecretAccessKey").text().get();
  found.session_token = child_ending(keys, "SessionToken").text().get();
  const auto expires = parse_iso_date(child_ending(keys, "Expiration").text().get());
  if (found.access_key_id.empty() || found.secret_access_key.empty() || found.session_token.empty() || !expires) {
    return bad("a key, the token or the expiration is missing");
  }
  found.expires = *expires;
  return found;
}

}  // namespace millrace::s3
