// SPDX-License-Identifier: Apache-2.0
#include "store/s3/role_source.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "millrace/base/printable.h"
#include "store/s3/hidden_secrets.h"
#include "store/s3/signer.h"

namespace millrace::s3 {

namespace {

// A refusal may quote what it was sent. Its context is left out, which may quote it too.
Error without(Error error, const std::vector<std::string>& secrets) {
  std::string text = error.message();
  for (const std::string& secret : secrets) hide(text, secret);
  return {error.error_class(), error.code(), std::move(text)};
}

struct Plan {
  TextQuestion question;
  std::string asked;     // "taking on role arn:..."
  std::string provider;  // of the keys that come
  std::vector<std::string> secrets;
};

void ask_sts(const CredentialContext& context, Plan plan, CredentialSource::Done done) {
  TextQuestion question = std::move(plan.question);
  ask(*context.loop, std::move(question),
      [plan = std::move(plan), done = std::move(done)](Result<TextAnswer> answer) mutable {
        if (!answer) return done(fail(std::move(answer).error().prefixed(plan.asked + ": ")));
        auto found = parse_sts_answer(*answer, plan.asked);
        if (!found) return done(fail(without(std::move(found).error(), plan.secrets)));
        found->provider = std::move(plan.provider);
        done(std::move(found));
      });
}

TextQuestion question_for(const StsAddress& address, std::string body) {
  TextQuestion question;
  question.method = HttpMethod::post;
  question.url = address.url;
  question.headers = {{"Host", address.host}, {"Content-Type", "application/x-www-form-urlencoded"}};
  question.body = std::move(body);
  return question;
}

class RoleSource final : public CredentialSource, public std::enable_shared_from_this<RoleSource> {
 public:
  RoleSource(std::shared_ptr<CredentialSource> base, Role role, CredentialContext context)
      : base_(std::move(base)), role_(std::move(role)), context_(std::move(context)) {}

  void fetch(Done done) override {
    base_->fetch([self = shared_from_this(), done = std::move(done)](Result<Credentials> base) mutable {
      // Without its keys the role is set up and cannot be had, which is more than not being set up.
      if (!base) {
        const Error& why = base.error();
        return done(fail(Error(why.error_class(), ErrorCode::credentials, self->asked() + ": " + why.message())));
      }
      self->take_on(*base, std::move(done));
    });
  }
  [[nodiscard]] bool refreshable() const override { return true; }
  [[nodiscard]] std::string tried() const override {
    return fmt::format("role {} (with {})", printable(role_.arn, 200), base_->tried());
  }

 private:
  [[nodiscard]] std::string asked() const { return fmt::format("taking on role {}", printable(role_.arn, 200)); }

  void take_on(const Credentials& base, Done done) {
    auto address = sts_address(context_, role_.region);
    if (!address) return done(fail(std::move(address).error()));
    Plan plan;
    plan.asked = fmt::format("{} at {} with the keys of {}", asked(), address->url, base.provider);
    plan.provider = fmt::format("role {} taken on with the keys of {}", printable(role_.arn, 200), base.provider);
    plan.secrets = {base.session_token, base.secret_access_key, role_.external_id};
    plan.question = question_for(*address, assume_role_form(role_, context_.environment));
    const std::string payload = sha256_hex(plan.question.body);
    const std::string_view region = role_.region.empty() ? context_.region : role_.region;
    const SigningInput input{
        "POST", address->target, plan.question.headers, payload, region, context_.clock->unix_micros(), "sts"};
    auto added = sign(input, base);
    if (!added) return done(fail(std::move(added).error()));
    for (auto& header : *added) plan.question.headers.push_back(std::move(header));
    ask_sts(context_, std::move(plan), std::move(done));
  }

  const std::shared_ptr<CredentialSource> base_;
  const Role role_;
  const CredentialContext context_;
};

Result<std::string> read_token(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string token(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open() || file.bad()) {
    return fail(Error::fatal(ErrorCode::credentials, fmt::format("web identity token file {} cannot be read: {}",
                                                                 printable(path, 200), std::strerror(errno))));
  }
  while (token.ends_with('\n') || token.ends_with('\r') || token.ends_with(' ')) token.pop_back();
  if (token.empty()) {
    return fail(
        Error::fatal(ErrorCode::credentials, fmt::format("web identity token file {} is empty", printable(path, 200))));
  }
  return token;
}

class WebIdentitySource final : public CredentialSource {
 public:
  WebIdentitySource(Role role, std::string token_file, CredentialContext context)
      : role_(std::move(role)), token_file_(std::move(token_file)), context_(std::move(context)) {}

  void fetch(Done done) override {
    auto token = read_token(token_file_);
    if (!token) return done(fail(std::move(token).error()));
    auto address = sts_address(context_, role_.region);
    if (!address) return done(fail(std::move(address).error()));
    Plan plan;
    plan.asked = fmt::format("taking on role {} at {} with the token in {}", printable(role_.arn, 200), address->url,
                             printable(token_file_, 200));
    plan.provider =
        fmt::format("web identity (role {}, token in {})", printable(role_.arn, 200), printable(token_file_, 200));
    plan.question = question_for(*address, web_identity_form(role_, *token, context_.environment));
    plan.secrets = {*std::move(token)};
    ask_sts(context_, std::move(plan), std::move(done));
  }
  [[nodiscard]] bool refreshable() const override { return true; }
  [[nodiscard]] std::string tried() const override {
    return fmt::format("web identity (role {})", printable(role_.arn, 200));
  }

 private:
  const Role role_;
  const std::string token_file_;
  const CredentialContext context_;
};

class EnvironmentWebIdentity final : public CredentialSource {
 public:
  explicit EnvironmentWebIdentity(CredentialContext context) : context_(std::move(context)) {}
  void fetch(Done done) override {
    const std::string file = context_.environment("AWS_WEB_IDENTITY_TOKEN_FILE");
    Role role;
    role.arn = context_.environment("AWS_ROLE_ARN");
    if (file.empty()) return done(fail(not_configured("AWS_WEB_IDENTITY_TOKEN_FILE is not set")));
    if (role.arn.empty()) {
      return done(
          fail(Error::fatal(ErrorCode::credentials,
                            "AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN; set that as well, or name both "
                            "here: store.web_identity_token_file and store.role_arn")));
    }
    make_web_identity_source(std::move(role), file, context_)->fetch(std::move(done));
  }
  [[nodiscard]] bool refreshable() const override { return true; }
  [[nodiscard]] std::string tried() const override { return "web identity"; }

 private:
  const CredentialContext context_;
};

}  // namespace

std::shared_ptr<CredentialSource> make_role_source(std::shared_ptr<CredentialSource> base, Role role,
                                                   CredentialContext context) {
  return std::make_shared<RoleSource>(std::move(base), std::move(role), std::move(context));
}

std::shared_ptr<CredentialSource> make_web_identity_source(Role role, std::string token_file,
                                                           CredentialContext context) {
  return std::make_shared<WebIdentitySource>(std::move(role), std::move(token_file), std::move(context));
}

std::shared_ptr<CredentialSource> make_environment_web_identity(CredentialContext context) {
  return std::make_shared<EnvironmentWebIdentity>(std::move(context));
}

}  // namespace millrace::s3
