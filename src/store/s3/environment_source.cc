// SPDX-License-Identifier: Apache-2.0
#include "store/s3/environment_source.h"

#include <utility>

namespace millrace::s3 {

namespace {

class EnvironmentSource final : public CredentialSource {
 public:
  explicit EnvironmentSource(Environment environment) : environment_(std::move(environment)) {}

  void fetch(Done done) override {
    Credentials found;
    found.access_key_id = environment_("AWS_ACCESS_KEY_ID");
    found.secret_access_key = environment_("AWS_SECRET_ACCESS_KEY");
    found.session_token = environment_("AWS_SESSION_TOKEN");
    found.provider = "environment (AWS_ACCESS_KEY_ID)";
    const bool key = !found.access_key_id.empty();
    const bool secret = !found.secret_access_key.empty();
    if (key && secret) return done(std::move(found));
    if (!key && !secret) return done(fail(not_configured("AWS_ACCESS_KEY_ID is not set")));
    done(fail(Error::fatal(ErrorCode::credentials, key ? "AWS_ACCESS_KEY_ID is set without AWS_SECRET_ACCESS_KEY"
                                                       : "AWS_SECRET_ACCESS_KEY is set without AWS_ACCESS_KEY_ID")));
  }
  [[nodiscard]] bool refreshable() const override { return false; }
  [[nodiscard]] std::string tried() const override { return "environment"; }

 private:
  const Environment environment_;
};

}  // namespace

std::shared_ptr<CredentialSource> make_environment_source(Environment environment) {
  return std::make_shared<EnvironmentSource>(std::move(environment));
}

}  // namespace millrace::s3
