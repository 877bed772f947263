// SPDX-License-Identifier: Apache-2.0
#include "store/s3/s3_options.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

namespace millrace::s3 {

namespace {

// Known names whose work is not done yet: an option that is taken and does nothing would be worse than none.
void refuse_unavailable(const StoreOptions& options, std::vector<std::string>& problems) {
  struct Unavailable {
    std::string_view name;
    std::string_view instead;
  };
  constexpr std::array<Unavailable, 3> kNames = {{
      {"role_arn", "name the role in a profile of the shared AWS configuration and set store.profile"},
      {"external_id", "set external_id in the profile that names the role"},
      {"web_identity_token_file", "set AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN in the environment"},
  }};
  for (const auto& [name, instead] : kNames) {
    if (options.has(name)) problems.push_back(fmt::format("store.{} is not available yet: {}", name, instead));
  }
  if (options.has("http1_only") && !options.flag("http1_only")) {
    problems.emplace_back("store.http1_only: only HTTP/1.1 is spoken; leave the option out, or set it to \"true\"");
  }
  if (options.flag("s3_express")) problems.emplace_back("store.s3_express is not available yet");
  if (const auto checksum = options.get("checksum_algorithm"); !checksum.empty() && checksum != "none") {
    problems.emplace_back(
        "store.checksum_algorithm is not available yet: uploads are covered by the signed hash of "
        "their body; leave the option out");
  }
}

std::string first_of(std::string_view given, std::initializer_list<std::string> fallbacks) {
  if (!given.empty()) return std::string(given);
  for (const std::string& fallback : fallbacks) {
    if (!fallback.empty()) return fallback;
  }
  return {};
}

}  // namespace

Environment process_environment() {
  return [](const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return std::string(value == nullptr ? "" : value);
  };
}

Result<S3Options> read_s3_options(std::string_view bucket, const StoreOptions& options,
                                  const Environment& environment) {
  std::vector<std::string> problems;
  refuse_unavailable(options, problems);
  S3Options read;
  read.bucket = bucket;
  read.endpoint =
      first_of(options.get("endpoint"), {environment("AWS_ENDPOINT_URL_S3"), environment("AWS_ENDPOINT_URL")});
  read.allow_http = options.flag("allow_http");
  read.virtual_hosted = options.flag("virtual_hosted_style_request");
  read.path_style = options.has("virtual_hosted_style_request") && !read.virtual_hosted;

  read.skip_signature = options.flag("skip_signature");
  read.unsigned_payload = options.flag("unsigned_payload");
  read.requester_pays = options.flag("request_payer");
  if (options.has("access_key_id") != options.has("secret_access_key")) {
    problems.emplace_back("store.access_key_id and store.secret_access_key: give both or neither");
  }
  if (options.has("access_key_id")) {
    Credentials keys;
    keys.access_key_id = options.get("access_key_id");
    keys.secret_access_key = options.get("secret_access_key");
    keys.session_token = options.get("session_token");
    keys.provider = "the store's options";
    read.keys = std::move(keys);
  }
  read.chain.profile = options.get("profile");
  read.chain.metadata_endpoint = options.get("metadata_endpoint");
  read.chain.imdsv1_fallback = options.flag("imdsv1_fallback");
  read.chain.container_relative_uri = options.get("container_credentials_relative_uri");
  read.chain.container_full_uri = options.get("container_credentials_full_uri");
  read.chain.container_token_file = options.get("container_authorization_token_file");

  read.ca_bundle = first_of(options.get("ca_bundle"), {environment("AWS_CA_BUNDLE")});
  read.accept_any_certificate =
      options.flag("allow_invalid_certificates") && options.flag("confirm_invalid_certificates");
  if (options.flag("allow_invalid_certificates") && !read.accept_any_certificate) {
    problems.emplace_back(
        "store.allow_invalid_certificates needs store.confirm_invalid_certificates: \"true\" as well");
  }
  read.proxy_url = options.get("proxy_url");
  read.proxy_excludes = options.get("proxy_excludes");
  if (options.has("user_agent")) read.user_agent = options.get("user_agent");

  if (const auto given = options.duration("connect_timeout")) read.connect_timeout = *given;
  read.request_timeout = options.duration("timeout");
  if (const auto given = options.duration("pool_idle_timeout")) read.pool_idle_timeout = *given;
  for (const char* name : {"connect_timeout", "timeout"}) {
    if (const auto given = options.duration(name); given && given->count() <= 0) {
      problems.push_back(fmt::format("store.{}: give more than zero", name));
    }
  }

  read.region = first_of(options.get("region"), {environment("AWS_REGION"), environment("AWS_DEFAULT_REGION")});
  if (read.region.empty() && !read.keys && !read.skip_signature) read.region = region_of_profile(read.chain.profile);
  if (read.region.empty()) read.region = "us-east-1";
  if (!problems.empty()) return fail(Error::config(fmt::format("{}", fmt::join(problems, "\n"))));
  return read;
}

}  // namespace millrace::s3
