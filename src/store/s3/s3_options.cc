// SPDX-License-Identifier: Apache-2.0
#include "store/s3/s3_options.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "store/s3/endpoint.h"
#include "store/s3/proxy_url.h"

namespace millrace::s3 {

namespace {

std::string first_of(std::string_view given, std::initializer_list<std::string> fallbacks) {
  if (!given.empty()) return std::string(given);
  for (const std::string& fallback : fallbacks) {
    if (!fallback.empty()) return fallback;
  }
  return {};
}

}  // namespace

std::string endpoint_of(const StoreOptions& options, const Environment& environment) {
  return first_of(options.get("endpoint"), {environment("AWS_ENDPOINT_URL_S3"), environment("AWS_ENDPOINT_URL")});
}

Environment process_environment() {
  return [](const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return std::string(value == nullptr ? "" : value);
  };
}

S3Options read_s3_options(std::string_view bucket, const StoreOptions& options, const Environment& environment) {
  S3Options read;
  read.environment = environment;
  read.bucket = bucket;
  read.endpoint = endpoint_of(options, environment);
  read.allow_http = options.flag("allow_http");
  read.virtual_hosted = options.flag("virtual_hosted_style_request");
  read.path_style = options.has("virtual_hosted_style_request") && !read.virtual_hosted;

  read.skip_signature = options.flag("skip_signature");
  read.unsigned_payload = options.flag("unsigned_payload");
  read.requester_pays = options.flag("request_payer");
  if (options.has("access_key_id")) {
    Credentials keys;
    keys.access_key_id = options.get("access_key_id");
    keys.secret_access_key = options.get("secret_access_key");
    keys.session_token = options.get("session_token");
    keys.provider = "the store's options";
    read.keys = std::move(keys);
  }
  read.chain.profile = options.get("profile");
  read.chain.instance.metadata_endpoint = options.get("metadata_endpoint");
  read.chain.instance.imdsv1_fallback = options.flag("imdsv1_fallback");
  read.chain.container.relative_uri = options.get("container_credentials_relative_uri");
  read.chain.container.full_uri = options.get("container_credentials_full_uri");
  read.chain.container.token_file = options.get("container_authorization_token_file");
  read.chain.role_arn = options.get("role_arn");
  read.chain.external_id = options.get("external_id");
  read.chain.web_identity_token_file = options.get("web_identity_token_file");

  read.ca_bundle = first_of(options.get("ca_bundle"), {environment("AWS_CA_BUNDLE")});
  read.accept_any_certificate =
      options.flag("allow_invalid_certificates") && options.flag("confirm_invalid_certificates");
  read.proxy_url = options.get("proxy_url");
  read.proxy_excludes = options.get("proxy_excludes");
  if (options.has("user_agent")) read.user_agent = options.get("user_agent");

  if (const auto given = options.duration("connect_timeout")) read.connect_timeout = *given;
  read.request_timeout = options.duration("timeout");
  if (const auto given = options.duration("pool_idle_timeout")) read.pool_idle_timeout = *given;

  read.region = first_of(options.get("region"), {environment("AWS_REGION"), environment("AWS_DEFAULT_REGION")});
  if (read.region.empty() && !read.keys && !read.skip_signature) read.region = region_of_profile(read.chain.profile);
  if (read.region.empty()) read.region = "us-east-1";
  return read;
}

Result<void> check_s3_options(std::string_view bucket, const StoreOptions& options, const Environment& environment) {
  // Where a bucket is reached does not hang on its region; naming one spares a look at the shared configuration.
  const S3Options read = read_s3_options(bucket, options, [&](const char* name) {
    return std::string_view(name) == "AWS_REGION" ? std::string("us-east-1") : environment(name);
  });
  MILLRACE_TRY(check_proxy_url(read.proxy_url));
  MILLRACE_TRY(
      Endpoint::make({read.bucket, read.region, read.endpoint, read.allow_http, read.virtual_hosted, read.path_style}));
  return {};
}

std::string server_of(const StoreOptions& options, const Environment& environment) {
  const std::string endpoint = endpoint_of(options, environment);
  if (endpoint.empty()) return "aws";
  const auto read = Endpoint::make({.bucket = "b", .region = "", .endpoint = endpoint, .allow_http = true});
  std::string server = read ? read->server() : endpoint;
  std::ranges::transform(server, server.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return server.ends_with(".amazonaws.com") || server.ends_with(".amazonaws.com.cn") ? "aws" : server;
}

}  // namespace millrace::s3
