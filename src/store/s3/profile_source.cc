// SPDX-License-Identifier: Apache-2.0
#include "store/s3/profile_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "millrace/base/printable.h"
#include "store/s3/environment_source.h"
#include "store/s3/process_source.h"
#include "store/s3/profile_files.h"
#include "store/s3/role_source.h"
#include "store/s3/sso_source.h"

namespace millrace::s3 {

namespace {

using Source = std::shared_ptr<CredentialSource>;

std::unexpected<Error> refuse(std::string why) { return fail(Error::fatal(ErrorCode::credentials, std::move(why))); }

// Follows one profile through the files as they stand.
class ProfileReading {
 public:
  ProfileReading(const ProfileOptions& options, const CredentialContext& context)
      : options_(options), context_(context), files_(ProfileFiles::read()) {}

  [[nodiscard]] Result<Source> source_of(const std::string& profile) {
    const std::string shown = printable(profile, 80);
    if (!files_.has_profile(profile)) {
      std::string why = fmt::format("profile '{}' is neither in {}", shown, files_.names());
      why.replace(why.rfind(" and "), 5, " nor in ");
      if (!visited_.empty() || !options_.name.empty()) return refuse(std::move(why));
      if (!context_.environment("AWS_PROFILE").empty()) return refuse("AWS_PROFILE names it, and " + why);
      return fail(not_configured(std::move(why)));
    }
    const bool first = visited_.empty();
    const bool again = std::ranges::find(visited_, profile) != visited_.end();
    const bool keys = static_cast<bool>(files_.get(profile, "aws_access_key_id")) ||
                      static_cast<bool>(files_.get(profile, "aws_secret_access_key"));
    // A profile may take on its role with its own keys.
    if (again && !keys) return refuse(fmt::format("profile '{}' leads back to itself by source_profile", shown));
    visited_.push_back(profile);
    if (files_.get(profile, "role_arn") && (first || !keys)) return role_of(profile);
    if (keys) return keys_of(profile);
    if (files_.get(profile, "sso_account_id")) return sso_of(profile);
    if (const auto command = files_.get(profile, "credential_process")) {
      return make_process_source(command.value, fmt::format("the credential_process of {}", named(profile, command)));
    }
    return fail(not_configured(fmt::format("profile '{}' names no credentials", shown)));
  }

 private:
  [[nodiscard]] static std::string named(const std::string& profile, const ProfileFiles::Setting& setting) {
    return fmt::format("profile '{}' in {}", printable(profile, 80), setting.file);
  }

  [[nodiscard]] Result<Source> keys_of(const std::string& profile) const {
    const auto key = files_.get(profile, "aws_access_key_id");
    const auto secret = files_.get(profile, "aws_secret_access_key");
    if (!key || !secret) {
      return refuse(fmt::format("{} has only one of aws_access_key_id and aws_secret_access_key",
                                named(profile, key ? key : secret)));
    }
    Credentials found;
    found.access_key_id = key.value;
    found.secret_access_key = secret.value;
    // A token beside keys of the other file belongs to other keys.
    const auto token = files_.get(profile, "aws_session_token");
    if (token && token.file == key.file) found.session_token = token.value;
    found.provider = named(profile, key);
    return make_static_credentials(std::move(found));
  }

  [[nodiscard]] Result<Source> role_of(const std::string& profile) {
    const auto arn = files_.get(profile, "role_arn");
    if (files_.get(profile, "mfa_serial")) {
      return refuse(
          fmt::format("{} wants a code of an MFA device, which a program without a person cannot give: use "
                      "keys of a session",
                      named(profile, arn)));
    }
    Role role;
    role.arn = arn.value;
    role.external_id = files_.get(profile, "external_id").value;
    role.session_name = files_.get(profile, "role_session_name").value;
    role.duration = files_.get(profile, "duration_seconds").value;
    role.region = files_.get(profile, "region").value;
    if (const auto base = files_.get(profile, "source_profile")) {
      MILLRACE_ASSIGN(Source keys, source_of(base.value));
      return make_role_source(std::move(keys), std::move(role), context_);
    }
    if (const auto base = files_.get(profile, "credential_source")) {
      MILLRACE_ASSIGN(Source keys, base_source(base.value, profile, arn));
      return make_role_source(std::move(keys), std::move(role), context_);
    }
    if (const auto token = files_.get(profile, "web_identity_token_file")) {
      return make_web_identity_source(std::move(role), token.value, context_);
    }
    return refuse(fmt::format("{} has a role_arn without source_profile, credential_source or web_identity_token_file",
                              named(profile, arn)));
  }

  [[nodiscard]] Result<Source> base_source(const std::string& name, const std::string& profile,
                                           const ProfileFiles::Setting& arn) const {
    if (name == "Environment") return make_environment_source(context_.environment);
    if (name == "EcsContainer") return make_container_source(options_.container, context_.environment);
    if (name == "Ec2InstanceMetadata") return make_instance_source(options_.instance, context_.environment);
    return refuse(
        fmt::format("{} has credential_source {}; known are Environment, EcsContainer and Ec2InstanceMetadata",
                    named(profile, arn), printable(name, 80)));
  }

  [[nodiscard]] Result<Source> sso_of(const std::string& profile) const {
    const auto account = files_.get(profile, "sso_account_id");
    SsoRole role;
    role.profile = profile;
    role.account_id = account.value;
    role.role_name = files_.get(profile, "sso_role_name").value;
    role.cache_key = files_.get(profile, "sso_session").value;
    role.region = role.cache_key.empty() ? files_.get(profile, "sso_region").value
                                         : files_.get_session(role.cache_key, "sso_region");
    if (role.cache_key.empty()) role.cache_key = files_.get(profile, "sso_start_url").value;
    if (role.role_name.empty() || role.region.empty() || role.cache_key.empty()) {
      return refuse(fmt::format("{} has an sso_account_id without sso_role_name, sso_region, or sso_session",
                                named(profile, account)));
    }
    role.provider = fmt::format("single sign-on of {}", named(profile, account));
    return make_sso_source(std::move(role), context_);
  }

  const ProfileOptions& options_;
  const CredentialContext& context_;
  const ProfileFiles files_;
  std::vector<std::string> visited_;
};

class ProfileSource final : public CredentialSource {
 public:
  ProfileSource(ProfileOptions options, CredentialContext context)
      : options_(std::move(options)), context_(std::move(context)), name_(profile_name(options_.name)) {}

  void fetch(Done done) override {
    auto source = ProfileReading(options_, context_).source_of(name_);
    if (!source) return done(fail(std::move(source).error()));
    Source& asked = *source;
    CredentialSource& raw = *asked;
    raw.fetch([held = std::move(asked), done = std::move(done)](Result<Credentials> found) mutable {
      done(std::move(found));
    });
  }
  [[nodiscard]] bool refreshable() const override { return true; }
  [[nodiscard]] std::string tried() const override { return fmt::format("profile '{}'", printable(name_, 80)); }

 private:
  const ProfileOptions options_;
  const CredentialContext context_;
  const std::string name_;
};

}  // namespace

std::shared_ptr<CredentialSource> make_profile_source(ProfileOptions options, CredentialContext context) {
  return std::make_shared<ProfileSource>(std::move(options), std::move(context));
}

}  // namespace millrace::s3
