// SPDX-License-Identifier: Apache-2.0
#include "store/s3/aws_chain.h"

#include <aws/auth/credentials.h>
#include <aws/common/string.h>
#include <aws/io/uri.h>
#include <aws/sdkutils/aws_profile.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/sync.h"
#include "store/s3/aws_runtime.h"

namespace millrace::s3 {

namespace {

// An empty text is "not given", which the library tells by a null pointer.
aws_byte_cursor cursor(std::string_view text) {
  return text.empty() ? aws_byte_cursor{} : aws_byte_cursor_from_array(text.data(), text.size());
}
std::string text_of(aws_byte_cursor bytes) { return {reinterpret_cast<const char*>(bytes.ptr), bytes.len}; }

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? std::string_view{} : std::string_view(value);
}

struct Provider {
  std::string name;
  std::shared_ptr<aws_credentials_provider> handle;  // empty: could not be made
  std::string outcome;                               // why it gave nothing
};

std::shared_ptr<aws_credentials_provider> owned(aws_credentials_provider* provider) {
  if (provider == nullptr) return nullptr;
  return {provider, [](aws_credentials_provider* last) { aws_credentials_provider_release(last); }};
}

// A provider that was not made has a reason, and the next one is asked.
Provider named(std::string name, aws_credentials_provider* made) {
  Provider provider{std::move(name), owned(made), ""};
  if (!provider.handle) provider.outcome = "not configured";
  return provider;
}

aws_credentials_provider* new_container_provider(const AwsChainOptions& options) {
  aws_credentials_provider_ecs_options ecs{};
  ecs.bootstrap = aws_network().bootstrap;
  ecs.auth_token_file_path = cursor(options.container_token_file);
  if (!options.container_relative_uri.empty()) {
    ecs.host = cursor("169.254.170.2");
    ecs.path_and_query = cursor(options.container_relative_uri);
    ecs.port = 80;
    return aws_credentials_provider_new_ecs(aws_library(), &ecs);
  }
  aws_uri uri{};
  const aws_byte_cursor full = cursor(options.container_full_uri);
  if (aws_uri_init_parse(&uri, aws_library(), &full) != AWS_OP_SUCCESS) return nullptr;
  ecs.host = *aws_uri_host_name(&uri);
  ecs.path_and_query = *aws_uri_path_and_query(&uri);
  if (ecs.path_and_query.len == 0) ecs.path_and_query = cursor("/");
  const bool https = text_of(*aws_uri_scheme(&uri)) == "https";
  if (https) ecs.tls_ctx = aws_network().tls;
  ecs.port = aws_uri_port(&uri) != 0 ? aws_uri_port(&uri) : (https ? 443 : 80);
  aws_credentials_provider* made = aws_credentials_provider_new_ecs(aws_library(), &ecs);
  aws_uri_clean_up(&uri);
  return made;
}

Provider container_or_instance(const AwsChainOptions& options) {
  aws_allocator* allocator = aws_library();
  if (!options.container_relative_uri.empty() || !options.container_full_uri.empty()) {
    return named("container credentials", new_container_provider(options));
  }
  if (!environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").empty() ||
      !environment("AWS_CONTAINER_CREDENTIALS_FULL_URI").empty()) {
    aws_credentials_provider_ecs_environment_options ecs{};
    ecs.bootstrap = aws_network().bootstrap;
    ecs.tls_ctx = aws_network().tls;
    return named("container credentials", aws_credentials_provider_new_ecs_from_environment(allocator, &ecs));
  }
  const auto disabled = environment("AWS_EC2_METADATA_DISABLED");
  if (disabled == "true" || disabled == "TRUE" || disabled == "True") {
    return {"instance metadata", nullptr, "AWS_EC2_METADATA_DISABLED is set"};
  }
  aws_credentials_provider_imds_options imds{};
  imds.bootstrap = aws_network().bootstrap;
  imds.ec2_metadata_v1_disabled = !options.imdsv1_fallback;
  imds.imds_endpoint = cursor(options.metadata_endpoint);
  return named("instance metadata", aws_credentials_provider_new_imds(allocator, &imds));
}

std::vector<Provider> providers(const AwsChainOptions& options) {
  aws_allocator* allocator = aws_library();
  std::vector<Provider> chain;
  if (options.profile.empty()) {
    const aws_credentials_provider_environment_options env{};
    chain.push_back(named("environment", aws_credentials_provider_new_environment(allocator, &env)));
  }
  // A profile may assume a role, and that asks over the network.
  aws_credentials_provider_profile_options profile{};
  profile.profile_name_override = cursor(options.profile);
  profile.bootstrap = aws_network().bootstrap;
  profile.tls_ctx = aws_network().tls;
  const std::string name = options.profile.empty() ? "profile" : fmt::format("profile '{}'", options.profile);
  chain.push_back(named(name, aws_credentials_provider_new_profile(allocator, &profile)));
  if (!options.profile.empty()) return chain;  // asked for by name: nobody else's keys are taken instead
  aws_credentials_provider_sts_web_identity_options web{};
  web.bootstrap = aws_network().bootstrap;
  web.tls_ctx = aws_network().tls;
  chain.push_back(named("web identity", aws_credentials_provider_new_sts_web_identity(allocator, &web)));
  chain.push_back(container_or_instance(options));
  return chain;
}

class AwsChain final : public CredentialSource, public std::enable_shared_from_this<AwsChain> {
 public:
  explicit AwsChain(std::vector<Provider> chain) : chain_(std::move(chain)) {}

  void fetch(std::move_only_function<void(Result<Credentials>)> done) override {
    std::size_t first = 0;
    {
      const MutexLock lock(mutex_);
      if (winner_) first = *winner_;
      for (std::size_t i = first; i < chain_.size(); ++i) {
        if (chain_[i].handle) chain_[i].outcome.clear();
      }
    }
    ask(first, std::move(done));
  }
  [[nodiscard]] bool refreshable() const override {
    const MutexLock lock(mutex_);
    return !winner_ || chain_[*winner_].name != "environment";
  }
  [[nodiscard]] std::string tried() const override {
    const MutexLock lock(mutex_);
    std::string text;
    for (const Provider& provider : chain_) {
      if (!text.empty()) text += "; ";
      text += fmt::format("{}: {}", provider.name, provider.outcome.empty() ? "no answer yet" : provider.outcome);
    }
    return text;
  }

 private:
  struct Asked {
    std::shared_ptr<AwsChain> chain;
    std::size_t index;
    std::move_only_function<void(Result<Credentials>)> done;
  };

  void ask(std::size_t index, std::move_only_function<void(Result<Credentials>)> done) {
    std::shared_ptr<aws_credentials_provider> handle;
    {
      const MutexLock lock(mutex_);
      while (index < chain_.size() && !chain_[index].handle) ++index;
      if (index < chain_.size()) handle = chain_[index].handle;
    }
    if (!handle) {
      done(fail(Error::fatal(ErrorCode::credentials,
                             fmt::format("no credentials found; tried: {}. Set store.access_key_id and "
                                         "store.secret_access_key, or store.skip_signature for a public bucket",
                                         tried()))));
      return;
    }
    auto* asked = new Asked{shared_from_this(), index, std::move(done)};  // NOLINT: owned by the callback
    if (aws_credentials_provider_get_credentials(handle.get(), answered, asked) != AWS_OP_SUCCESS) {
      answered(nullptr, aws_last_error(), asked);
    }
  }

  static void answered(aws_credentials* credentials, int error, void* user) {
    const std::unique_ptr<Asked> asked(static_cast<Asked*>(user));
    AwsChain& chain = *asked->chain;
    if (credentials == nullptr) {
      {
        const MutexLock lock(chain.mutex_);
        chain.chain_[asked->index].outcome = aws_error_text(error);
        if (chain.winner_) {
          // Another identity must not take over in the middle of a run.
          asked->index = chain.chain_.size();
        }
      }
      chain.ask(asked->index + 1, std::move(asked->done));
      return;
    }
    Credentials found;
    found.access_key_id = text_of(aws_credentials_get_access_key_id(credentials));
    found.secret_access_key = text_of(aws_credentials_get_secret_access_key(credentials));
    found.session_token = text_of(aws_credentials_get_session_token(credentials));
    const std::uint64_t expires = aws_credentials_get_expiration_timepoint_seconds(credentials);
    if (expires < INT64_MAX / 1'000'000) found.expires = static_cast<UnixMicros>(expires) * 1'000'000;
    {
      const MutexLock lock(chain.mutex_);
      chain.winner_ = asked->index;
      chain.chain_[asked->index].outcome = "answered";
      found.provider = chain.chain_[asked->index].name;
    }
    asked->done(std::move(found));
  }

  mutable Mutex mutex_;
  std::vector<Provider> chain_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<std::size_t> winner_ MILLRACE_GUARDED_BY(mutex_);
};

aws_profile_collection* read_profiles(aws_string* path, aws_profile_source_type kind) {
  aws_profile_collection* read =
      path == nullptr ? nullptr : aws_profile_collection_new_from_file(aws_library(), path, kind);
  aws_string_destroy(path);
  return read;
}

}  // namespace

std::shared_ptr<CredentialSource> make_aws_chain(const AwsChainOptions& options) {
  return std::make_shared<AwsChain>(providers(options));
}

std::string region_of_profile(const std::string& profile) {
  aws_allocator* allocator = aws_library();
  const aws_byte_cursor given = cursor(profile);
  aws_string* name = aws_get_profile_name(allocator, &given);
  const aws_byte_cursor no_override{};
  aws_profile_collection* config = read_profiles(aws_get_config_file_path(allocator, &no_override), AWS_PST_CONFIG);
  std::string region;
  if (config != nullptr) {
    aws_string* key = aws_string_new_from_c_str(allocator, "region");
    const aws_profile* found = aws_profile_collection_get_profile(config, name);
    const aws_profile_property* property = found == nullptr ? nullptr : aws_profile_get_property(found, key);
    if (property != nullptr) {
      const aws_string* value = aws_profile_property_get_value(property);
      region.assign(aws_string_c_str(value), value->len);
    }
    aws_string_destroy(key);
  }
  aws_profile_collection_release(config);
  aws_string_destroy(name);
  return region;
}

}  // namespace millrace::s3
