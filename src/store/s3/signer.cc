// SPDX-License-Identifier: Apache-2.0
#include "store/s3/signer.h"

#include <aws/auth/credentials.h>
#include <aws/auth/signable.h>
#include <aws/auth/signing.h>
#include <aws/auth/signing_config.h>
#include <aws/auth/signing_result.h>
#include <aws/common/string.h>
#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <memory>

#include "store/s3/aws_runtime.h"

namespace millrace::s3 {

namespace {

aws_byte_cursor cursor(std::string_view text) {
  return text.empty() ? aws_byte_cursor{} : aws_byte_cursor_from_array(text.data(), text.size());
}

// The request as aws-c-auth wants to see it, without building one of its own messages.
struct Signable {
  aws_signable base{};
  aws_byte_cursor method{};
  aws_byte_cursor target{};
  std::vector<aws_signable_property_list_pair> pairs;
  aws_array_list headers{};
};

int get_property(const aws_signable* signable, const aws_string* name, aws_byte_cursor* out) {
  const auto* self = static_cast<const Signable*>(signable->impl);
  if (aws_string_eq(name, g_aws_http_method_property_name)) {
    *out = self->method;
    return AWS_OP_SUCCESS;
  }
  if (aws_string_eq(name, g_aws_http_uri_property_name)) {
    *out = self->target;
    return AWS_OP_SUCCESS;
  }
  return AWS_OP_ERR;
}

int get_list(const aws_signable* signable, const aws_string* name, aws_array_list** out) {
  auto* self = static_cast<Signable*>(signable->impl);
  *out = nullptr;
  if (!aws_string_eq(name, g_aws_http_headers_property_list_name)) return AWS_OP_ERR;
  *out = &self->headers;
  return AWS_OP_SUCCESS;
}

int get_stream(const aws_signable* /*signable*/, aws_input_stream** out) {
  *out = nullptr;
  return AWS_OP_SUCCESS;
}

void destroy(aws_signable* /*signable*/) {}

aws_signable_vtable signable_table = {get_property, get_list, get_stream, destroy};

struct Outcome {
  HeaderList headers;
  int error = AWS_ERROR_SUCCESS;
};

void signed_now(aws_signing_result* result, int error, void* user) {
  auto* outcome = static_cast<Outcome*>(user);
  outcome->error = error;
  if (result == nullptr || error != AWS_ERROR_SUCCESS) return;
  aws_array_list* list = nullptr;
  aws_signing_result_get_property_list(result, g_aws_http_headers_property_list_name, &list);
  const std::size_t count = list == nullptr ? 0 : aws_array_list_length(list);
  for (std::size_t i = 0; i < count; ++i) {
    aws_signing_result_property property{};
    aws_array_list_get_at(list, &property, i);
    outcome->headers.emplace_back(std::string(aws_string_c_str(property.name), property.name->len),
                                  std::string(aws_string_c_str(property.value), property.value->len));
  }
}

struct ReleaseCredentials {
  void operator()(aws_credentials* credentials) const { aws_credentials_release(credentials); }
};

}  // namespace

Result<HeaderList> sign(const SigningInput& input, const Credentials& credentials) {
  aws_allocator* allocator = aws_library();
  Signable signable;
  signable.base = {allocator, &signable, &signable_table};
  signable.method = cursor(input.method);
  signable.target = cursor(input.target);
  for (const auto& [name, value] : input.headers) signable.pairs.push_back({cursor(name), cursor(value)});
  aws_array_list_init_static_from_initialized(&signable.headers, signable.pairs.data(), signable.pairs.size(),
                                              sizeof(aws_signable_property_list_pair));

  const std::unique_ptr<aws_credentials, ReleaseCredentials> keys(
      aws_credentials_new(allocator, cursor(credentials.access_key_id), cursor(credentials.secret_access_key),
                          cursor(credentials.session_token), UINT64_MAX));
  aws_signing_config_aws config{};
  config.config_type = AWS_SIGNING_CONFIG_AWS;
  config.algorithm = AWS_SIGNING_ALGORITHM_V4;
  config.signature_type = AWS_ST_HTTP_REQUEST_HEADERS;
  config.region = cursor(input.region);
  config.service = cursor(input.service);
  const UnixMicros seconds = input.now / 1'000'000;
  aws_date_time_init_epoch_secs(&config.date, static_cast<double>(seconds));
  // S3 decodes the path once and never normalises it, so what is signed is what is sent.
  config.flags.use_double_uri_encode = 0;
  config.flags.should_normalize_uri_path = 0;
  config.signed_body_value = cursor(input.payload);
  config.signed_body_header = AWS_SBHT_X_AMZ_CONTENT_SHA256;
  config.credentials = keys.get();

  // With credentials at hand the library answers within the call.
  Outcome outcome;
  const int started = aws_sign_request_aws(
      allocator, &signable.base, reinterpret_cast<const aws_signing_config_base*>(&config), signed_now, &outcome);
  const int error = started == AWS_OP_SUCCESS ? outcome.error : aws_last_error();
  if (error != AWS_ERROR_SUCCESS || outcome.headers.empty()) {
    return fail(Error::fatal(ErrorCode::credentials,
                             fmt::format("the request could not be signed with the credentials from {}: {}",
                                         credentials.provider, aws_error_text(error))));
  }
  return std::move(outcome.headers);
}

std::string sha256_hex(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::array<unsigned char, 32> digest{};
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  std::string text;
  for (const unsigned char byte : digest) {
    text += kHex[byte >> 4U];
    text += kHex[byte & 15U];
  }
  return text;
}

}  // namespace millrace::s3
