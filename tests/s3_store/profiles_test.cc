// SPDX-License-Identifier: Apache-2.0
// Goal: a profile of the shared files gives what it names, and the winner is told by kind and file. Method: files in a
// home folder of the test's own, a fake STS and single sign-on, and the fault server, which takes one pair of keys.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/s3_store/credential_fakes.h"
#include "tests/s3_store/fixture.h"

namespace millrace::s3 {
namespace {

using millrace::testing::HttpAnswer;
using millrace::testing::HttpListener;
using millrace::testing::HttpRequest;
using testing::CleanEnvironment;
using testing::ContainerEndpoint;
using testing::FakeSts;
using testing::Fixture;
using ::testing::HasSubstr;
using testing::InstanceMetadata;
using ::testing::Not;
using testing::without_keys;

constexpr const char* kKeys =
    "aws_access_key_id = AKGOOD\naws_secret_access_key = good-secret\naws_session_token = good-token\n";

class Profiles : public ::testing::Test {
 protected:
  // What listing with this profile (empty: none by name) comes to: "ok", or the message.
  std::string with_profile(const std::string& name) {
    S3Options options = without_keys(f);
    options.chain.profile = name;
    options.chain.instance.metadata_endpoint = metadata_endpoint;
    f.open(options);
    const auto listed = f.store->list({});
    const std::string said = listed ? "ok" : listed.error().describe();
    for (const char* secret : {"good-secret", "good-token", "base-secret", "AKGOOD"}) {
      EXPECT_THAT(said + f.log->text(), Not(HasSubstr(secret)));
    }
    return said;
  }
  [[nodiscard]] std::string log() const { return f.log->text(); }
  CleanEnvironment clean;
  std::string metadata_endpoint;
  Fixture f{{.access_key = "AKGOOD", .secret_key = "good-secret", .session_token = "good-token"}};
};

TEST_F(Profiles, KeysOfEitherFileAreNamedByTheirFile) {
  clean.file(".aws/credentials", std::string("[prod]\n") + kKeys);
  clean.file(".aws/config", std::string("[profile inconfig]\n") + kKeys + "[profile prod]\nregion = us-east-1\n");
  EXPECT_EQ(with_profile("prod"), "ok");
  EXPECT_THAT(log(),
              HasSubstr("credentials found provider=profile 'prod' in ~/.aws/credentials valid_for=no end known"));
  EXPECT_EQ(with_profile("inconfig"), "ok");
  EXPECT_THAT(log(), HasSubstr("provider=profile 'inconfig' in ~/.aws/config"));
  clean.set("AWS_PROFILE", "prod");
  EXPECT_EQ(with_profile(""), "ok");
  EXPECT_THAT(with_profile("missing"),
              HasSubstr("profile 'missing' is neither in ~/.aws/config nor in ~/.aws/credentials"));
  // Who names a profile means that one, not whoever is asked next.
  clean.set("AWS_PROFILE", "missing");
  EXPECT_THAT(with_profile(""),
              HasSubstr("AWS_PROFILE names it, and profile 'missing' is neither in ~/.aws/config nor in"));
  clean.set("AWS_SHARED_CREDENTIALS_FILE", clean.file("elsewhere", std::string("[default]\n") + kKeys));
  clean.unset("AWS_PROFILE");
  EXPECT_EQ(with_profile(""), "ok");
  EXPECT_THAT(log(), HasSubstr("provider=profile 'default' in ~/elsewhere"));
}

TEST_F(Profiles, HalfAPairOfKeysEndsTheSearch) {
  clean.file(".aws/credentials", "[default]\naws_access_key_id = AKGOOD\n");
  EXPECT_THAT(with_profile(""), HasSubstr("profile 'default' in ~/.aws/credentials has only one of"));
  clean.set("AWS_SECRET_ACCESS_KEY", "good-secret");
  EXPECT_THAT(with_profile(""), HasSubstr("AWS_SECRET_ACCESS_KEY is set without AWS_ACCESS_KEY_ID"));
}

// Other programs write new keys there when the old ones end.
TEST_F(Profiles, I03_KeysThatAreReplacedInTheFileAreTaken) {
  clean.file(".aws/credentials", std::string("[default]\n") + kKeys);
  EXPECT_EQ(with_profile(""), "ok");
  f.server->rotate_credentials("AKNEXT", "next-secret", "next-token", "ExpiredToken");
  clean.file(".aws/credentials",
             "[default]\naws_access_key_id = AKNEXT\naws_secret_access_key = next-secret\n"
             "aws_session_token = next-token\n");
  const auto listed = f.store->list({});
  EXPECT_TRUE(listed) << listed.error().describe();
}

TEST_F(Profiles, ARoleIsTakenOnWithTheKeysOfAnotherProfile) {
  FakeSts sts({{"AKBASE", "base-secret"}, {"AKMID", "mid-secret"}}, {"AKGOOD", "good-secret", "good-token"});
  clean.set("AWS_ENDPOINT_URL_STS", sts.endpoint());
  clean.file(".aws/credentials", "[base]\naws_access_key_id = AKBASE\naws_secret_access_key = base-secret\n");
  clean.file(
      ".aws/config",
      "[profile prod]\nrole_arn = arn:aws:iam::1:role/prod\nsource_profile = base\nexternal_id = x-1\n"
      "role_session_name = nightly\nduration_seconds = 3600\nregion = eu-west-2\n"
      "[profile loop]\nrole_arn = arn:aws:iam::1:role/l\nsource_profile = loop2\n"
      "[profile loop2]\nrole_arn = arn:aws:iam::1:role/l2\nsource_profile = loop\n"
      "[profile lost]\nrole_arn = arn:aws:iam::1:role/l\nsource_profile = nobody\n"
      "[profile mfa]\nrole_arn = arn:aws:iam::1:role/l\nsource_profile = base\nmfa_serial = arn:aws:iam::1:mfa/me\n"
      "[profile bare]\nrole_arn = arn:aws:iam::1:role/l\n"
      "[profile odd]\nrole_arn = arn:aws:iam::1:role/l\ncredential_source = Magic\n");
  EXPECT_EQ(with_profile("prod"), "ok");
  const auto form = sts.form(0);
  EXPECT_EQ(form.at("RoleArn"), "arn:aws:iam::1:role/prod");
  EXPECT_EQ(form.at("ExternalId"), "x-1");
  EXPECT_EQ(form.at("RoleSessionName"), "nightly");
  EXPECT_EQ(form.at("DurationSeconds"), "3600");
  EXPECT_EQ(form.at("@"), "AKBASE eu-west-2 sts");
  EXPECT_THAT(log(), HasSubstr("provider=role arn:aws:iam::1:role/prod taken on with the keys of profile 'base' in "
                               "~/.aws/credentials"));
  EXPECT_THAT(with_profile("loop"), HasSubstr("profile 'loop' leads back to itself by source_profile"));
  EXPECT_THAT(with_profile("lost"), HasSubstr("profile 'nobody' is neither in"));
  EXPECT_THAT(with_profile("mfa"), HasSubstr("wants a code of an MFA device"));
  EXPECT_THAT(with_profile("bare"), HasSubstr("without source_profile, credential_source or web_identity_token_file"));
  EXPECT_THAT(with_profile("odd"), HasSubstr("credential_source Magic; known are Environment"));
  EXPECT_EQ(sts.asked(), 1);
}

TEST_F(Profiles, ARoleIsTakenOnWithTheKeysThatItsSourceGives) {
  FakeSts sts({{"AKBASE", "base-secret"}}, {"AKGOOD", "good-secret", "good-token"});
  clean.set("AWS_ENDPOINT_URL_STS", sts.endpoint());
  ContainerEndpoint container;
  container.set("AKBASE", "base-secret", "base-token", std::chrono::hours(1));
  clean.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", container.uri());
  clean.file(".aws/config",
             fmt::format("[profile env]\nrole_arn = arn:aws:iam::1:role/e\ncredential_source = Environment\n"
                         "[profile ecs]\nrole_arn = arn:aws:iam::1:role/c\ncredential_source = EcsContainer\n"
                         "[profile web]\nrole_arn = arn:aws:iam::1:role/w\nweb_identity_token_file = {}\n",
                         clean.file("token", "ey.profile")));
  EXPECT_EQ(with_profile("ecs"), "ok");
  EXPECT_EQ(container.asked(), 1);
  EXPECT_THAT(with_profile("env"), HasSubstr("AWS_ACCESS_KEY_ID is not set"));
  clean.set("AWS_ACCESS_KEY_ID", "AKBASE");
  clean.set("AWS_SECRET_ACCESS_KEY", "base-secret");
  EXPECT_EQ(with_profile("env"), "ok");
  EXPECT_EQ(with_profile("web"), "ok");
  EXPECT_EQ(sts.form(2).at("WebIdentityToken"), "ey.profile");
}

TEST_F(Profiles, ARoleIsTakenOnWithTheKeysOfTheInstance) {
  FakeSts sts({{"AKBASE", "base-secret"}}, {"AKGOOD", "good-secret", "good-token"});
  clean.set("AWS_ENDPOINT_URL_STS", sts.endpoint());
  const InstanceMetadata instance(200, R"({"Code":"Success","AccessKeyId":"AKBASE","SecretAccessKey":"base-secret",)"
                                       R"("Token":"base-token","Expiration":"2099-01-01T00:00:00Z"})");
  metadata_endpoint = instance.endpoint();
  clean.file(".aws/config",
             "[profile ec2]\nrole_arn = arn:aws:iam::1:role/i\ncredential_source = Ec2InstanceMetadata\n");
  // An instance that may not be asked gives nothing, and nobody else is asked in its place.
  EXPECT_THAT(with_profile("ec2"), HasSubstr("AWS_EC2_METADATA_DISABLED is set"));
  EXPECT_TRUE(instance.seen().empty());
  clean.unset("AWS_EC2_METADATA_DISABLED");
  EXPECT_EQ(with_profile("ec2"), "ok");
  EXPECT_EQ(instance.seen().size(), 3U) << "its token, its role, its keys";
  EXPECT_EQ(sts.asked(), 1);
  EXPECT_EQ(sts.form(0).at("RoleArn"), "arn:aws:iam::1:role/i");
  EXPECT_EQ(sts.form(0).at("@"), "AKBASE us-east-1 sts");
  EXPECT_THAT(log(), HasSubstr("provider=role arn:aws:iam::1:role/i taken on with the keys of instance metadata at " +
                               instance.endpoint()));
}

// Plays the portal: one token, one role.
class FakeSignOn {
 public:
  explicit FakeSignOn(int status = 200) {
    listener_ = *HttpListener::start({}, [this, status](const HttpRequest& request) {
      const MutexLock lock(mutex_);
      last_ = request;
      HttpAnswer answer;
      answer.status = request.header("x-amz-sso_bearer_token") == "sso-token-1" ? status : 401;
      answer.set_body(answer.status == 200
                          ? R"({"roleCredentials":{"accessKeyId":"AKGOOD","secretAccessKey":"good-secret",)"
                            R"("sessionToken":"good-token","expiration":4102444800000}})"
                          : "{}");
      return answer;
    });
  }
  [[nodiscard]] std::string endpoint() const { return listener_->endpoint(); }
  [[nodiscard]] HttpRequest last() const {
    const MutexLock lock(mutex_);
    return last_;
  }

 private:
  mutable Mutex mutex_;
  HttpRequest last_ MILLRACE_GUARDED_BY(mutex_);
  std::unique_ptr<HttpListener> listener_;
};

constexpr const char* kSignOnConfig =
    "[sso-session corp]\nsso_region = eu-west-1\nsso_start_url = https://corp.example/start\n"
    "[profile new]\nsso_session = corp\nsso_account_id = 123456789012\nsso_role_name = Read Only\n"
    "[profile old]\nsso_start_url = https://corp.example/start\nsso_region = eu-west-1\nsso_account_id = 123456789012\n"
    "sso_role_name = Read Only\n[profile half]\nsso_account_id = 123456789012\n";

TEST_F(Profiles, SingleSignOnGivesKeysForTheTokenOfALogin) {
  FakeSignOn portal;
  clean.set("AWS_ENDPOINT_URL_SSO", portal.endpoint());
  clean.file(".aws/config", kSignOnConfig);
  // printf corp | sha1sum, and of https://corp.example/start
  const std::string by_session = ".aws/sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json";
  const std::string by_url = ".aws/sso/cache/f7c9b39d0b4c7a7d82c79307585f77e1c5e74378.json";
  const std::string token = R"({"accessToken": "sso-token-1", "expiresAt": "2099-01-01T00:00:00Z"})";
  EXPECT_THAT(with_profile("new"), HasSubstr("there is no single sign-on token ~/" + by_session));
  EXPECT_THAT(with_profile("new"), HasSubstr("run `aws sso login --profile new`"));
  clean.file(by_session, token);
  EXPECT_EQ(with_profile("new"), "ok");
  EXPECT_EQ(portal.last().target, "/federation/credentials?account_id=123456789012&role_name=Read%20Only");
  EXPECT_THAT(log(), HasSubstr("provider=single sign-on of profile 'new' in ~/.aws/config"));
  clean.file(by_url, R"({"accessToken": "sso-token-1", "expiresAt": "2099-01-01T00:00:00UTC"})");
  EXPECT_EQ(with_profile("old"), "ok");
  EXPECT_THAT(with_profile("half"), HasSubstr("sso_account_id without sso_role_name, sso_region, or sso_session"));
  clean.file(by_url, R"({"accessToken": "sso-token-1", "expiresAt": "2020-01-01T00:00:00Z"})");
  EXPECT_THAT(with_profile("old"), HasSubstr("ended at 2020-01-01T00:00:00Z; run `aws sso login --profile old`"));
  clean.file(by_url, R"({"accessToken": "sso-token-2", "expiresAt": "2099-01-01T00:00:00Z"})");
  EXPECT_THAT(with_profile("old"), HasSubstr("the single sign-on token is no longer taken"));
  EXPECT_THAT(log(), Not(HasSubstr("sso-token")));
  clean.file(by_url, "sso-token-1");
  EXPECT_THAT(with_profile("old"), HasSubstr("is no single sign-on token"));
  FakeSignOn refusing(403);
  clean.set("AWS_ENDPOINT_URL_SSO", refusing.endpoint());
  EXPECT_THAT(with_profile("new"), HasSubstr("account 123456789012 has no role 'Read Only'"));
}

// Plays the service that renews tokens: each refresh token is good once.
class FakeTokens : public testing::NotingEndpoint {
 public:
  FakeTokens()
      : NotingEndpoint(
            [](const Request& request) { return request.method + " " + request.target + " " + request.body; },
            [](const Request& /*request*/, std::size_t number) {
              Answer answer;
              answer.status = number == 0 ? 200 : 400;
              answer.set_body(number == 0 ? R"({"accessToken":"sso-token-1","expiresIn":28800,"tokenType":"Bearer",)"
                                            R"("refreshToken":"refresh-2"})"
                                          : R"({"error":"invalid_grant"})");
              return answer;
            }) {}
};

TEST_F(Profiles, ATokenOfASessionIsRenewedAndWrittenBack) {
  FakeSignOn portal;
  FakeTokens tokens;
  clean.set("AWS_ENDPOINT_URL_SSO", portal.endpoint());
  clean.set("AWS_ENDPOINT_URL_SSO_OIDC", tokens.endpoint());
  clean.file(".aws/config", kSignOnConfig);
  const std::string by_session = ".aws/sso/cache/ee0bfd2552fbd840c02cc48b6e823320543c450f.json";
  const std::string document =
      R"({"startUrl": "https://corp.example/start", "accessToken": "sso-token-0", "expiresAt": "2020-01-01T00:00:00Z",)"
      R"( "refreshToken": "refresh-1", "clientId": "client-7", "clientSecret": "client \"secret\""})";
  clean.file(by_session, document);
  EXPECT_EQ(with_profile("new"), "ok");
  EXPECT_EQ(tokens.seen().at(0), R"(POST /token {"clientId":"client-7","clientSecret":"client \"secret\"",)"
                                 R"("grantType":"refresh_token","refreshToken":"refresh-1"})");
  std::ifstream file(clean.path(by_session));
  const std::string kept{std::istreambuf_iterator<char>(file), {}};
  for (const char* part : {R"("startUrl":"https://corp.example/start")", R"("accessToken":"sso-token-1")",
                           R"("refreshToken":"refresh-2")", R"("clientId":"client-7")"}) {
    EXPECT_THAT(kept, HasSubstr(part));
  }
  EXPECT_EQ(std::filesystem::status(clean.path(by_session)).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(with_profile("new"), "ok");  // good for eight hours
  EXPECT_EQ(tokens.seen().size(), 1U);
  clean.file(by_session, document);
  EXPECT_THAT(with_profile("new"), HasSubstr("ended at 2020-01-01T00:00:00Z and could not be renewed; run `aws sso"));
  for (const char* secret : {"sso-token", "refresh-", "client "}) EXPECT_THAT(log(), Not(HasSubstr(secret)));
}

TEST_F(Profiles, ACommandGivesKeys) {
  const std::string document =
      R"({"Version": 1, "AccessKeyId": "AKGOOD", "SecretAccessKey": "good-secret", "SessionToken": "good-token", )"
      R"("Expiration": "2099-01-01T02:00:00+02:00"})";
  const std::string answer = clean.file("answer", document);
  const auto command = [&](const std::string& text) {
    clean.file(".aws/config", fmt::format("[profile p]\ncredential_process = {}\n", text));
    return with_profile("p");
  };
  EXPECT_EQ(command("cat '" + answer + "'; echo chatter >&2"), "ok");
  EXPECT_THAT(log(), HasSubstr("provider=the credential_process of profile 'p' in ~/.aws/config"));
  EXPECT_THAT(
      command("echo 'good-secret' >&2; cat '" + answer + "'; exit 3"),
      HasSubstr("credential_process ended with exit code 3; the 12 bytes it wrote to standard error are not shown "
                "here, as they may hold keys: run it by hand to read them"));
  EXPECT_THAT(command("kill -9 $$"), HasSubstr("credential_process ended with signal 9"));
  EXPECT_THAT(command("echo good-secret"), HasSubstr("credential_process printed no JSON object"));
  EXPECT_THAT(command(R"(echo '{"Version": 2, "AccessKeyId": "AKGOOD"}')"), HasSubstr("another Version than 1"));
  EXPECT_THAT(command(R"(echo '{"Version": 1, "AccessKeyId": "AKGOOD"}')"), HasSubstr("no SecretAccessKey"));
  EXPECT_THAT(command(R"(echo '{"Version": 1, "AccessKeyId": "a", "SecretAccessKey": "b", "Expiration": "soon"}')"),
              HasSubstr("an Expiration that is no time"));
}

}  // namespace
}  // namespace millrace::s3
