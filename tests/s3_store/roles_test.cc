// SPDX-License-Identifier: Apache-2.0
// Goal: roles are taken on through STS with what was named, renewed, and never replaced by another identity; nothing
// secret shows. Method: a fake STS that recomputes each signature, in front of the fault server, which takes the role's
// keys only.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/s3_store/credential_fakes.h"
#include "tests/s3_store/fixture.h"

namespace millrace::s3 {
namespace {

using testing::CleanEnvironment;
using testing::FakeSts;
using testing::Fixture;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::without_keys;

constexpr const char* kArn = "arn:aws:iam::123456789012:role/reader";
const FakeSts::Keys kRoleKeys = {"AKROLE", "role/secret+", "role-token=="};

// A server that takes the role's keys, and an STS that gives them to who signs as AKBASE.
class Roles : public ::testing::Test {
 protected:
  Roles() { clean.set("AWS_ENDPOINT_URL_STS", sts.endpoint()); }
  void open(const S3Options& options) { f.open(options); }
  S3Options with_role() {
    S3Options options = without_keys(f);
    options.keys = Credentials{"AKBASE", "base/secret+", "", INT64_MAX, "the store's options"};
    options.chain.role_arn = kArn;
    return options;
  }
  CleanEnvironment clean;
  FakeSts sts{{{"AKBASE", "base/secret+"}}, kRoleKeys};
  Fixture f{{.access_key = "AKROLE", .secret_key = "role/secret+", .session_token = "role-token=="}};
};

TEST_F(Roles, ARoleIsTakenOnWithTheKeysOfTheOptionsAndNamed) {
  S3Options options = with_role();
  options.chain.external_id = "ext & id/1";
  open(options);
  const auto listed = f.store->list({});
  ASSERT_TRUE(listed) << listed.error().describe();
  const auto form = sts.form(0);
  EXPECT_EQ(form.at("Action"), "AssumeRole");
  EXPECT_EQ(form.at("Version"), "2011-06-15");
  EXPECT_EQ(form.at("RoleArn"), kArn);
  EXPECT_EQ(form.at("ExternalId"), "ext & id/1");
  EXPECT_THAT(form.at("RoleSessionName"), StartsWith("millrace-"));
  EXPECT_EQ(form.at("@"), "AKBASE us-east-1 sts");
  const std::string log = f.log->text();
  EXPECT_THAT(log, HasSubstr(fmt::format(
                       "credentials found provider=role {} taken on with the keys of the store's options", kArn)));
  for (const char* secret : {"base/secret+", "role/secret+", "role-token==", "ext & id/1", "AKROLE", "AKBASE"}) {
    EXPECT_THAT(log, Not(HasSubstr(secret)));
  }
}

TEST_F(Roles, I03_ARefusedTokenIsRenewedAtSts) {
  open(with_role());
  ASSERT_TRUE(f.store->list({}));
  f.server->rotate_credentials("AKNEXT", "next-secret", "next-token", "ExpiredToken");
  sts.give({"AKNEXT", "next-secret", "next-token"});
  const auto listed = f.store->list({});
  EXPECT_TRUE(listed) << listed.error().describe();
  EXPECT_EQ(sts.asked(), 2);
}

TEST_F(Roles, ARefusalIsToldWithWhatStsSaidAndWithoutSecrets) {
  sts.refuse_with(403,
                  "<ErrorResponse><Error><Code>AccessDenied</Code><Message>User may not sts:AssumeRole; you sent "
                  "base/secret+</Message></Error></ErrorResponse>");
  open(with_role());
  const auto listed = f.store->list({});
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code(), ErrorCode::credentials);
  EXPECT_TRUE(listed.error().is_fatal());
  EXPECT_THAT(listed.error().message(), HasSubstr(kArn));
  EXPECT_THAT(listed.error().message(), HasSubstr("STS answered 403 AccessDenied (User may not sts:AssumeRole"));
  EXPECT_THAT(listed.error().describe() + f.log->text(), Not(HasSubstr("base/secret+")));
  EXPECT_EQ(sts.asked(), 1);
  EXPECT_TRUE(f.server->requests().empty());
}

TEST_F(Roles, AWrongSecretIsRefusedBySts) {
  S3Options options = with_role();
  options.keys->secret_access_key = "another";
  open(options);
  EXPECT_THAT(f.store->list({}).error().message(), HasSubstr("403 SignatureDoesNotMatch"));
}

TEST_F(Roles, ATroubledStsIsAskedAgain) {
  sts.fail_first(2);
  open(with_role());
  const auto listed = f.store->list({});
  EXPECT_TRUE(listed) << listed.error().describe();
  EXPECT_EQ(sts.asked(), 3);
}

TEST_F(Roles, AnStsThatStaysAwayIsRetryable) {
  sts.fail_first(100);
  open(with_role());
  const auto listed = f.store->list({});
  ASSERT_FALSE(listed);
  EXPECT_TRUE(listed.error().is_retryable());
  EXPECT_EQ(sts.asked(), 3);
}

TEST_F(Roles, AnAnswerThatIsNotStssIsRefused) {
  for (const char* body :
       {"", "<html>log in</html>", "{}",
        "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>a</AccessKeyId></Credentials>"
        "</AssumeRoleResult></AssumeRoleResponse>"}) {
    sts.refuse_with(200, body);
    open(with_role());
    EXPECT_THAT(f.store->list({}).error().message(), HasSubstr("the answer is not STS's")) << body;
  }
}

TEST_F(Roles, AnStsInTheClearOnAnotherMachineIsNotAsked) {
  clean.set("AWS_ENDPOINT_URL_STS", "http://sts.example.test:8000");
  open(with_role());
  EXPECT_THAT(f.store->list({}).error().message(), HasSubstr("the address of STS cannot be used"));
}

TEST_F(Roles, ATokenOfTheOptionsTakesOnTheRoleUnsigned) {
  S3Options options = without_keys(f);
  options.chain.role_arn = kArn;
  options.chain.web_identity_token_file = clean.file("token", "ey.the token/1\n");
  open(options);
  const auto listed = f.store->list({});
  ASSERT_TRUE(listed) << listed.error().describe();
  const auto form = sts.form(0);
  EXPECT_EQ(form.at("Action"), "AssumeRoleWithWebIdentity");
  EXPECT_EQ(form.at("RoleArn"), kArn);
  EXPECT_EQ(form.at("WebIdentityToken"), "ey.the token/1");
  EXPECT_EQ(form.count("@"), 0U);
  EXPECT_THAT(f.log->text(), HasSubstr(fmt::format("provider=web identity (role {}, token in {})", kArn,
                                                   options.chain.web_identity_token_file)));
  EXPECT_THAT(f.log->text(), Not(HasSubstr("ey.the")));
  // Whoever issues the token replaces the file.
  clean.file("token", "ey.second");
  f.server->rotate_credentials("AKNEXT", "next-secret", "next-token", "ExpiredToken");
  sts.give({"AKNEXT", "next-secret", "next-token"});
  EXPECT_TRUE(f.store->list({}));
  EXPECT_EQ(sts.form(1).at("WebIdentityToken"), "ey.second");
}

TEST_F(Roles, ATokenOfTheEnvironmentTakesOnTheRole) {
  clean.set("AWS_WEB_IDENTITY_TOKEN_FILE", clean.file("token", "ey.env"));
  clean.set("AWS_ROLE_ARN", kArn);
  clean.set("AWS_ROLE_SESSION_NAME", "job-7");
  open(without_keys(f));
  const auto listed = f.store->list({});
  ASSERT_TRUE(listed) << listed.error().describe();
  EXPECT_EQ(sts.form(0).at("RoleSessionName"), "job-7");
  EXPECT_THAT(f.log->text(), HasSubstr("provider=web identity (role "));
}

// Who is set up and fails ends the search: the keys of the instance are another identity.
TEST_F(Roles, ATokenThatIsRefusedIsNotReplacedByTheInstance) {
  clean.set("AWS_WEB_IDENTITY_TOKEN_FILE", clean.file("token", "ey.refused"));
  clean.set("AWS_ROLE_ARN", kArn);
  clean.unset("AWS_EC2_METADATA_DISABLED");
  const auto metadata = *millrace::testing::HttpListener::start(
      {}, [](const millrace::testing::HttpRequest&) { return millrace::testing::HttpAnswer(); });
  sts.refuse_with(400,
                  "<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>ey.refused has expired</Message>"
                  "</Error></ErrorResponse>");
  S3Options options = without_keys(f);
  options.chain.instance.metadata_endpoint = metadata->endpoint();
  open(options);
  const auto listed = f.store->list({});
  ASSERT_FALSE(listed);
  EXPECT_THAT(listed.error().message(), HasSubstr("400 InvalidIdentityToken (*** has expired)"));
  EXPECT_EQ(metadata->connections(), 0U);
  clean.unset("AWS_ROLE_ARN");
  open(options);
  EXPECT_THAT(f.store->list({}).error().message(), HasSubstr("AWS_WEB_IDENTITY_TOKEN_FILE is set without"));
  clean.set("AWS_ROLE_ARN", kArn);
  clean.set("AWS_WEB_IDENTITY_TOKEN_FILE", "/no/such/token");
  open(options);
  EXPECT_THAT(f.store->list({}).error().message(), HasSubstr("/no/such/token cannot be read"));
}

TEST_F(Roles, ARoleOfTheOptionsIsTakenOnWithWhatTheChainGives) {
  clean.set("AWS_ACCESS_KEY_ID", "AKBASE");
  clean.set("AWS_SECRET_ACCESS_KEY", "base/secret+");
  S3Options options = without_keys(f);
  options.chain.role_arn = kArn;
  options.region = "us-east-1";
  open(options);
  ASSERT_TRUE(f.store->list({}));
  EXPECT_THAT(f.log->text(), HasSubstr("taken on with the keys of environment (AWS_ACCESS_KEY_ID)"));
}

}  // namespace
}  // namespace millrace::s3
