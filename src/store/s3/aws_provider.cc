// SPDX-License-Identifier: Apache-2.0
#include "store/s3/aws_provider.h"

#include <aws/auth/credentials.h>
#include <aws/common/task_scheduler.h>
#include <aws/io/channel_bootstrap.h>
#include <aws/io/event_loop.h>
#include <aws/io/uri.h>
#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "store/s3/aws_runtime.h"
#include "store/shown_url.h"

namespace millrace::s3 {

namespace {

// An empty text is "not given", which the library tells by a null pointer.
aws_byte_cursor cursor(std::string_view text) {
  return text.empty() ? aws_byte_cursor{} : aws_byte_cursor_from_array(text.data(), text.size());
}
std::string text_of(aws_byte_cursor bytes) { return {reinterpret_cast<const char*>(bytes.ptr), bytes.len}; }

using Handle = std::shared_ptr<aws_credentials_provider>;

void release_now(aws_task* task, void* provider, aws_task_status /*status*/) {
  aws_credentials_provider_release(static_cast<aws_credentials_provider*>(provider));
  aws_mem_release(aws_library(), task);
}

// On the library's own thread, which may still be about to leave the provider whose answer it has just given.
void release_there(aws_credentials_provider* provider) {
  auto* task = static_cast<aws_task*>(aws_mem_calloc(aws_library(), 1, sizeof(aws_task)));
  aws_task_init(task, release_now, provider, "millrace_release");
  aws_event_loop_schedule_task_now(aws_event_loop_group_get_next_loop(aws_network().bootstrap->event_loop_group), task);
}

Handle owned(aws_credentials_provider* provider) {
  if (provider == nullptr) return nullptr;
  return {provider, release_there};
}

class AwsProvider final : public CredentialSource {
 public:
  AwsProvider(std::string kind, std::string name, Handle handle, Error absent)
      : kind_(std::move(kind)), name_(std::move(name)), handle_(std::move(handle)), absent_(std::move(absent)) {}

  void fetch(Done done) override {
    if (!handle_) return done(fail(absent_));
    auto* asked = new Asked{handle_, name_, std::move(done)};  // NOLINT: owned by the callback
    if (aws_credentials_provider_get_credentials(handle_.get(), answered, asked) != AWS_OP_SUCCESS) {
      answered(nullptr, aws_last_error(), asked);
    }
  }
  [[nodiscard]] bool refreshable() const override { return true; }
  [[nodiscard]] std::string tried() const override { return kind_; }

 private:
  struct Asked {
    Handle handle;  // until it has answered
    std::string name;
    Done done;
  };

  static void answered(aws_credentials* credentials, int error, void* user) {
    const std::unique_ptr<Asked> asked(static_cast<Asked*>(user));
    if (credentials == nullptr) {
      asked->done(fail(not_configured(fmt::format("{} ({})", aws_error_text(error), asked->name))));
      return;
    }
    Credentials found;
    found.access_key_id = text_of(aws_credentials_get_access_key_id(credentials));
    found.secret_access_key = text_of(aws_credentials_get_secret_access_key(credentials));
    found.session_token = text_of(aws_credentials_get_session_token(credentials));
    const std::uint64_t expires = aws_credentials_get_expiration_timepoint_seconds(credentials);
    if (expires < INT64_MAX / 1'000'000) found.expires = static_cast<UnixMicros>(expires) * 1'000'000;
    found.provider = asked->name;
    asked->done(std::move(found));
  }

  const std::string kind_;
  const std::string name_;
  const Handle handle_;
  const Error absent_;
};

Handle container_by_options(const ContainerOptions& options, const Environment& environment) {
  std::string token_file = options.token_file;
  if (token_file.empty()) token_file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  const std::string token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  aws_credentials_provider_ecs_options ecs{};
  ecs.bootstrap = aws_network().bootstrap;
  ecs.auth_token_file_path = cursor(token_file);
  ecs.auth_token = cursor(token);
  std::string whole = options.full_uri;
  if (!options.relative_uri.empty()) {
    // With a slash between them nothing of the path can become part of the host.
    whole = options.relative_base + (options.relative_uri.starts_with('/') ? "" : "/") + options.relative_uri;
  }
  aws_uri uri{};
  const aws_byte_cursor full = cursor(whole);
  if (aws_uri_init_parse(&uri, aws_library(), &full) != AWS_OP_SUCCESS) return nullptr;
  ecs.host = *aws_uri_host_name(&uri);
  ecs.path_and_query = *aws_uri_path_and_query(&uri);
  if (ecs.path_and_query.len == 0) ecs.path_and_query = cursor("/");
  const bool https = text_of(*aws_uri_scheme(&uri)) == "https";
  if (https) ecs.tls_ctx = aws_network().tls;
  ecs.port = aws_uri_port(&uri) != 0 ? aws_uri_port(&uri) : (https ? 443 : 80);
  Handle made = owned(aws_credentials_provider_new_ecs(aws_library(), &ecs));
  aws_uri_clean_up(&uri);
  return made;
}

}  // namespace

std::shared_ptr<CredentialSource> make_container_source(ContainerOptions options, const Environment& environment) {
  constexpr const char* kKind = "container credentials";
  if (options.relative_uri.empty() && options.full_uri.empty()) {
    options.relative_uri = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  }
  const bool by_options = !options.relative_uri.empty() || !options.full_uri.empty();
  std::string uri = options.relative_uri + options.full_uri;
  if (uri.empty()) uri = environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (uri.empty()) {
    return std::make_shared<AwsProvider>(kKind, kKind, nullptr,
                                         not_configured("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and _FULL_URI are not "
                                                        "set"));
  }
  Handle handle;
  if (by_options) {
    handle = container_by_options(options, environment);
  } else {
    aws_credentials_provider_ecs_environment_options ecs{};
    ecs.bootstrap = aws_network().bootstrap;
    ecs.tls_ctx = aws_network().tls;
    handle = owned(aws_credentials_provider_new_ecs_from_environment(aws_library(), &ecs));
  }
  std::string name = fmt::format("{} at {}", kKind, shown_url(uri));
  return std::make_shared<AwsProvider>(
      kKind, std::move(name), std::move(handle),
      Error::fatal(ErrorCode::credentials, fmt::format("{} is no url that can be asked", shown_url(uri))));
}

std::shared_ptr<CredentialSource> make_instance_source(const InstanceOptions& options, const Environment& environment) {
  constexpr const char* kKind = "instance metadata";
  const std::string disabled = environment("AWS_EC2_METADATA_DISABLED");
  if (disabled == "true" || disabled == "TRUE" || disabled == "True") {
    return std::make_shared<AwsProvider>(kKind, kKind, nullptr, not_configured("AWS_EC2_METADATA_DISABLED is set"));
  }
  aws_credentials_provider_imds_options imds{};
  imds.bootstrap = aws_network().bootstrap;
  imds.ec2_metadata_v1_disabled = !options.imdsv1_fallback;
  imds.imds_endpoint = cursor(options.metadata_endpoint);
  std::string endpoint = options.metadata_endpoint;
  if (endpoint.empty()) endpoint = environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  std::string name = endpoint.empty() ? kKind : fmt::format("{} at {}", kKind, shown_url(endpoint));
  return std::make_shared<AwsProvider>(kKind, std::move(name),
                                       owned(aws_credentials_provider_new_imds(aws_library(), &imds)),
                                       Error::fatal(ErrorCode::credentials, "the metadata endpoint cannot be asked"));
}

}  // namespace millrace::s3
