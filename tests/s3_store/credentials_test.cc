// SPDX-License-Identifier: Apache-2.0
// Goal: credentials come from where they should, are renewed when refused, and never show. Method: the fault server,
// which knows which keys are good, beside small servers that play the container and the instance metadata.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "tests/s3_fault_server/credential_mint.h"
#include "tests/s3_fault_server/http_listener.h"
#include "tests/s3_store/credential_fakes.h"
#include "tests/s3_store/fixture.h"

namespace millrace::s3 {
namespace {

using millrace::testing::HttpAnswer;
using millrace::testing::HttpListener;
using millrace::testing::HttpRequest;
using testing::CleanEnvironment;
using testing::ContainerEndpoint;
using testing::Fixture;
using testing::InstanceMetadata;
using testing::read;
using testing::without_keys;

// The real clock, so much ahead as the test says.
class ShiftedClock final : public Clock {
 public:
  [[nodiscard]] SteadyTime now() const override { return Clock::real().now(); }
  [[nodiscard]] UnixMicros unix_micros() const override {
    return Clock::real().unix_micros() + std::chrono::microseconds(ahead_.load()).count();
  }
  void wait_until(CondVar& condition, Mutex& mutex, SteadyTime deadline) override MILLRACE_REQUIRES(mutex) {
    Clock::real().wait_until(condition, mutex, deadline);
  }
  void set(std::chrono::seconds ahead) { ahead_.store(ahead); }

 private:
  Atomic<std::chrono::seconds> ahead_{std::chrono::seconds(0)};
};

TEST(S3StoreCredentials, I01_FiveMinutesOnTokensOfOneMinuteWithAnOutageInTheMiddle) {
  const CleanEnvironment clean;
  ShiftedClock clock;
  Fixture f;
  const auto mint = *millrace::testing::CredentialMint::start(*f.server, std::chrono::minutes(1));
  constexpr UnixMicros kSecond = 1'000'000;
  const UnixMicros start = f.server->now();
  mint->be_down(start + 100 * kSecond, std::chrono::seconds(20));
  S3Options options = without_keys(f);
  options.chain.container.full_uri = mint->uri();
  f.open(options, clock);
  for (int second = 0; second <= 300; second += 5) {
    clock.set(std::chrono::seconds(second));
    f.server->set_clock_ahead(std::chrono::seconds(second));
    // Many at once: one renewal serves them all.
    std::vector<std::unique_ptr<testing::PendingRead>> reads;
    const auto put = f.store->put({.key = fmt::format("{}", second), .body = "x"});
    ASSERT_TRUE(put) << second << ": " << put.error().describe();
    for (int i = 0; i < 8; ++i) {
      reads.push_back(std::make_unique<testing::PendingRead>(*f.store, fmt::format("{}", second), 0, 1));
    }
    for (auto& one : reads) EXPECT_TRUE(one->wait().outcome.info);
  }
  for (const auto& use : f.server->credential_uses()) {
    EXPECT_EQ(use.refused, 0U) << use.access_key;
    EXPECT_LT(use.last_use, use.expires) << use.access_key;
  }
  // One of 60 s is renewed after 40 s, or up to 20 s later during the outage.
  EXPECT_GE(mint->answered(), 6U);
  EXPECT_LE(mint->answered(), 9U);
  EXPECT_GE(mint->refused(), 1U);
  EXPECT_EQ(f.server->count("PutObject"), 61U);
  EXPECT_EQ(f.server->count("GetObject"), 61U * 8);
}

TEST(S3StoreCredentials, I03_AnExpiredTokenIsRenewedAndTheRequestRepeated) {
  const CleanEnvironment clean;
  ContainerEndpoint container;
  container.set("AKONE", "secret-one", "token-one", std::chrono::hours(1));
  Fixture f({.access_key = "AKONE", .secret_key = "secret-one", .session_token = "token-one"});
  S3Options options = without_keys(f);
  options.chain.container.full_uri = container.uri();
  f.open(options);
  EXPECT_TRUE(f.store->put({.key = "k", .body = "1"}));
  EXPECT_EQ(container.asked(), 1);
  f.server->rotate_credentials("AKTWO", "secret-two", "token-two", "ExpiredToken");
  container.set("AKTWO", "secret-two", "token-two", std::chrono::hours(1));
  const auto put = f.store->put({.key = "k", .body = "2"});
  ASSERT_TRUE(put) << put.error().describe();
  EXPECT_EQ(container.asked(), 2);
  EXPECT_EQ(*f.server->object("bucket", "k")->bytes, "2");
  EXPECT_NE(f.log->text().find("provider=container credentials"), std::string::npos) << f.log->text();
}

TEST(S3StoreCredentials, I01_ManyRequestsRefusedTogetherRenewOnce) {
  const CleanEnvironment clean;
  ContainerEndpoint container;
  container.set("AKONE", "secret-one", "token-one", std::chrono::hours(1));
  Fixture f({.access_key = "AKONE", .secret_key = "secret-one", .session_token = "token-one"});
  f.server->put_object("bucket", "k", std::string(100, 'x'));
  S3Options options = without_keys(f);
  options.chain.container.full_uri = container.uri();
  f.open(options);
  ASSERT_TRUE(f.store->head("k"));
  f.server->rotate_credentials("AKTWO", "secret-two", "token-two", "ExpiredToken");
  container.set("AKTWO", "secret-two", "token-two", std::chrono::hours(1));
  std::vector<std::unique_ptr<testing::PendingRead>> reads;
  for (int i = 0; i < 32; ++i) reads.push_back(std::make_unique<testing::PendingRead>(*f.store, "k", 0, 100));
  for (auto& one : reads) {
    const auto answer = one->wait();
    EXPECT_TRUE(answer.outcome.info) << answer.outcome.info.error().describe();
  }
  EXPECT_EQ(container.asked(), 2);
}

TEST(S3StoreCredentials, I03_RefusedForGoodIsRetryableWhereTheyMayChangeAndNamesTheProvider) {
  const CleanEnvironment clean;
  ContainerEndpoint container;
  container.set("AKONE", "secret-one", "token-one", std::chrono::hours(1));
  Fixture f;
  S3Options options = without_keys(f);
  options.chain.container.full_uri = container.uri();
  f.open(options);
  const auto refused = f.store->put({.key = "k", .body = "1"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::credentials);
  EXPECT_TRUE(refused.error().is_retryable());
  EXPECT_NE(
      refused.error().message().find("credentials from container credentials at " + container.uri() + " were refused"),
      std::string::npos)
      << refused.error().message();
  // Keys from the options stay what they are.
  options = testing::options_for(*f.server);
  options.keys->access_key_id = "NOBODY";
  f.open(options);
  const auto fatal = f.store->put({.key = "k", .body = "1"});
  EXPECT_TRUE(fatal.error().is_fatal());
  EXPECT_EQ(f.server->requests().back().status, 403);
}

TEST(S3StoreCredentials, TheEnvironmentComesFirstThenTheProfile) {
  const CleanEnvironment clean;
  Fixture f;
  const auto& server = f.server->options();
  clean.file(".aws/credentials", fmt::format("[default]\naws_access_key_id = {}\naws_secret_access_key = {}\n[other]\n"
                                             "aws_access_key_id = WRONG\naws_secret_access_key = wrong\n",
                                             server.access_key, server.secret_key));
  f.open(without_keys(f));
  EXPECT_TRUE(f.store->list({}));
  EXPECT_NE(f.log->text().find("provider=profile"), std::string::npos) << f.log->text();
  S3Options named = without_keys(f);
  named.chain.profile = "other";
  f.open(named);
  EXPECT_EQ(f.store->list({}).error().code(), ErrorCode::credentials);
  ::setenv("AWS_ACCESS_KEY_ID", server.access_key.c_str(), 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", server.secret_key.c_str(), 1);
  f.open(without_keys(f));
  EXPECT_TRUE(f.store->list({}));
  EXPECT_NE(f.log->text().find("provider=environment"), std::string::npos);
  named.chain.profile = "missing";
  f.open(named);
  const auto missing = f.store->list({});
  EXPECT_EQ(missing.error().code(), ErrorCode::credentials);
  EXPECT_NE(missing.error().message().find("profile 'missing'"), std::string::npos) << missing.error().message();
}

TEST(S3StoreCredentials, TheProfileNamesTheRegion) {
  const CleanEnvironment clean;
  clean.file(".aws/config", "[default]\nregion = eu-west-1\n[profile other]\nregion = eu-west-3\n");
  EXPECT_EQ(region_of_profile(""), "eu-west-1");
  EXPECT_EQ(region_of_profile("other"), "eu-west-3");
  EXPECT_EQ(region_of_profile("missing"), "");
}

TEST(S3StoreCredentials, I04_NothingFoundListsWhatWasTried) {
  const CleanEnvironment clean;
  Fixture f;
  f.open(without_keys(f));
  const auto listed = f.store->list({});
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code(), ErrorCode::credentials);
  EXPECT_TRUE(listed.error().is_fatal());
  for (const char* name : {"environment", "profile", "web identity", "instance metadata", "store.access_key_id"}) {
    EXPECT_NE(listed.error().message().find(name), std::string::npos) << listed.error().message();
  }
  EXPECT_TRUE(f.server->requests().empty());
}

TEST(S3StoreCredentials, I04_InstanceMetadataIsAskedLastAndNeverWithKeysGiven) {
  const CleanEnvironment clean;
  ::unsetenv("AWS_EC2_METADATA_DISABLED");
  Fixture f({.session_token = "the-session"});
  const auto& server = f.server->options();
  const auto metadata = *HttpListener::start({}, [&](const HttpRequest& request) {
    HttpAnswer answer;
    if (request.method == "PUT") {
      answer.set_body("the-token");
    } else if (request.target.ends_with("/security-credentials/")) {
      answer.set_body("the-role");
    } else {
      answer.set_body(fmt::format(
          "{{\"Code\":\"Success\",\"AccessKeyId\":\"{}\",\"SecretAccessKey\":\"{}\",\"Token\":\"the-session\","
          "\"Expiration\":\"2099-01-01T00:00:00Z\"}}",
          server.access_key, server.secret_key));
    }
    return answer;
  });
  S3Options options = testing::options_for(*f.server);
  options.chain.instance.metadata_endpoint = metadata->endpoint();
  f.open(options);
  EXPECT_TRUE(f.store->list({}));
  EXPECT_EQ(metadata->connections(), 0U);
  options.keys.reset();
  f.open(options);
  const auto listed = f.store->list({});
  EXPECT_TRUE(listed) << listed.error().describe();
  EXPECT_GT(metadata->connections(), 0U);
  EXPECT_NE(f.log->text().find("provider=instance metadata"), std::string::npos);
}

TEST(S3StoreCredentials, TheInstanceIsAskedByVersionTwoAndByOneOnRequestOnly) {
  CleanEnvironment clean;
  clean.unset("AWS_EC2_METADATA_DISABLED");
  Fixture f({.session_token = "the-session"});
  const auto& server = f.server->options();
  const std::string keys =
      fmt::format(R"({{"Code":"Success","AccessKeyId":"{}","SecretAccessKey":"{}","Token":"the-session",)"
                  R"("Expiration":"2099-01-01T00:00:00Z"}})",
                  server.access_key, server.secret_key);
  const InstanceMetadata two(200, keys);
  S3Options options = without_keys(f);
  options.chain.instance.metadata_endpoint = two.endpoint();
  f.open(options);
  EXPECT_TRUE(f.store->list({}));
  const std::string base = "/latest/meta-data/iam/security-credentials/";
  EXPECT_EQ(two.seen(), (std::vector<std::string>{"PUT /latest/api/token ", "GET " + base + " imds-token",
                                                  "GET " + base + "the-role imds-token"}));
  EXPECT_NE(f.log->text().find("provider=instance metadata at " + two.endpoint()), std::string::npos);
  const InstanceMetadata one(404, keys);  // knows no tokens
  options.chain.instance.metadata_endpoint = one.endpoint();
  f.open(options);
  EXPECT_EQ(f.store->list({}).error().code(), ErrorCode::credentials);
  for (const std::string& request : one.seen()) EXPECT_EQ(request, "PUT /latest/api/token ");
  options.chain.instance.imdsv1_fallback = true;
  f.open(options);
  EXPECT_TRUE(f.store->list({}));
}

TEST(S3StoreCredentials, TheContainerIsAskedWithItsToken) {
  CleanEnvironment clean;
  ContainerEndpoint container;
  Fixture f({.access_key = "AKONE", .secret_key = "secret-one", .session_token = "token-one"});
  container.set("AKONE", "secret-one", "token-one", std::chrono::hours(1));
  S3Options options = without_keys(f);
  options.chain.container.full_uri = container.uri() + "?id=7";
  options.chain.container.token_file = clean.file("token", "Bearer of-the-file");
  f.open(options);
  EXPECT_TRUE(f.store->list({}));
  EXPECT_EQ(container.last().header("authorization"), "Bearer of-the-file");
  EXPECT_EQ(container.last().target, "/role?id=7");
  options.chain.container.token_file.clear();
  clean.set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", clean.file("other", "Bearer of-the-other-file"));
  f.open(options);
  EXPECT_TRUE(f.store->list({}));
  EXPECT_EQ(container.last().header("authorization"), "Bearer of-the-other-file");
  clean.unset("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  clean.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", container.uri());
  clean.set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Bearer of-the-environment");
  f.open(without_keys(f));
  EXPECT_TRUE(f.store->list({}));
  EXPECT_EQ(container.last().header("authorization"), "Bearer of-the-environment");
  EXPECT_NE(f.log->text().find("provider=container credentials at " + container.uri()), std::string::npos);
  EXPECT_EQ(f.log->text().find("of-the-"), std::string::npos);
  // In the clear to another machine the token would be anybody's.
  clean.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://10.0.0.1/role");
  f.open(without_keys(f));
  EXPECT_EQ(f.store->list({}).error().code(), ErrorCode::credentials);
}

// The address that every container has cannot be had in a test; the rest is as there.
TEST(S3StoreCredentials, TheContainerIsAskedByAPathAlone) {
  CleanEnvironment clean;
  ContainerEndpoint container;
  Fixture f({.access_key = "AKONE", .secret_key = "secret-one", .session_token = "token-one"});
  container.set("AKONE", "secret-one", "token-one", std::chrono::hours(1));
  EXPECT_EQ(S3Options().chain.container.relative_base, "http://169.254.170.2");
  S3Options options = without_keys(f);
  options.chain.container.relative_base = container.endpoint();
  options.chain.container.relative_uri = "/v2/credentials/of-the-options?id=7";
  f.open(options);
  EXPECT_TRUE(f.store->list({}));
  EXPECT_EQ(container.last().target, "/v2/credentials/of-the-options?id=7");
  EXPECT_NE(f.log->text().find("provider=container credentials at /v2/credentials/of-the-options?*** "),
            std::string::npos)
      << f.log->text();
  options.chain.container.relative_uri.clear();
  clean.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/of-the-environment");
  clean.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/never");
  f.open(options);
  EXPECT_TRUE(f.store->list({}));
  EXPECT_EQ(container.last().target, "/v2/credentials/of-the-environment");
  // What stands in it is a path, whatever it looks like.
  clean.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "@127.0.0.1:1/role");
  f.open(options);
  EXPECT_TRUE(f.store->list({}));
  EXPECT_EQ(container.last().target, "/@127.0.0.1:1/role");
}

// No keys elsewhere, and instance metadata whose long answer is delivered so. Far sooner than an hour or two minutes,
// as the test's own time limit shows, the error lists what was tried.
void expect_metadata_given_up(const millrace::testing::Delivery& delivery) {
  CleanEnvironment clean;
  clean.unset("AWS_EC2_METADATA_DISABLED");
  const auto metadata = *HttpListener::start({}, [&](const HttpRequest&) {
    HttpAnswer answer;
    answer.set_body(std::string(1'000, 't'));
    answer.delivery = delivery;
    return answer;
  });
  Fixture f;
  S3Options options = without_keys(f);
  options.chain.instance.metadata_endpoint = metadata->endpoint();
  f.open(options);
  const SteadyTime before = Clock::real().now();
  const auto listed = f.store->list({});
  EXPECT_LT(Clock::real().now() - before, std::chrono::seconds(100));
  EXPECT_EQ(listed.error().code(), ErrorCode::credentials);
  EXPECT_NE(listed.error().message().find("instance metadata"), std::string::npos) << listed.error().message();
  EXPECT_TRUE(f.server->requests().empty());
}

TEST(S3StoreCredentials, I04_AMetadataServerThatNeverAnswersIsGivenUpInSeconds) {
  expect_metadata_given_up({.delay = std::chrono::hours(1)});
}

// The reset would come two minutes into a body that began well; nobody waits for it.
TEST(S3StoreCredentials, I04_AMetadataServerThatResetsAfterMinutesIsGivenUpInSeconds) {
  expect_metadata_given_up({.reset_after = 200, .pause_after = 100, .pause = std::chrono::minutes(2)});
}

TEST(S3StoreCredentials, I04_AMetadataServerThatResetsAtOnceIsGivenUp) {
  expect_metadata_given_up({.reset_after = 100});
}

TEST(S3StoreCredentials, APlaceOfContainerCredentialsIsShownWithoutItsSecrets) {
  CleanEnvironment clean;
  for (const char* uri : {"http//me:PASSWORD@h/role?token=QUERY", "http://me:PASS/WORD@127.0.0.1:1/role?token=QUERY"}) {
    Fixture f;
    S3Options options = without_keys(f);
    options.chain.container.full_uri = uri;
    f.open(options);
    const auto listed = f.store->list({});
    ASSERT_FALSE(listed);
    const std::string said = listed.error().describe() + f.log->text();
    EXPECT_NE(said.find("/role"), std::string::npos) << said;
    for (const char* secret : {"PASS", "WORD", "QUERY"}) EXPECT_EQ(said.find(secret), std::string::npos) << said;
  }
}

// The documented order below the profile. Each place gives keys that the server takes, and the log names the winner.
TEST(S3StoreCredentials, BelowTheProfileAWebIdentityComesBeforeTheContainerAndThatBeforeTheInstance) {
  CleanEnvironment clean;
  Fixture f({.session_token = "the-session"});
  const auto& server = f.server->options();
  testing::FakeSts sts({}, {server.access_key, server.secret_key, "the-session"});
  ContainerEndpoint container;
  container.set(server.access_key, server.secret_key, "the-session", std::chrono::hours(1));
  const InstanceMetadata instance(
      200, fmt::format(R"({{"Code":"Success","AccessKeyId":"{}","SecretAccessKey":"{}","Token":"the-session",)"
                       R"("Expiration":"2099-01-01T00:00:00Z"}})",
                       server.access_key, server.secret_key));
  clean.unset("AWS_EC2_METADATA_DISABLED");
  clean.set("AWS_EC2_METADATA_SERVICE_ENDPOINT", instance.endpoint());
  clean.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", container.uri());
  clean.set("AWS_ENDPOINT_URL_STS", sts.endpoint());
  clean.set("AWS_WEB_IDENTITY_TOKEN_FILE", clean.file("token", "ey.token"));
  clean.set("AWS_ROLE_ARN", "arn:aws:iam::1:role/pod");
  const auto winner = [&] {
    f.log = std::make_shared<testing::KeptLog>();
    f.open(without_keys(f));
    const auto listed = f.store->list({});
    EXPECT_TRUE(listed) << listed.error().describe();
    const std::string text = f.log->text();
    const std::size_t at = text.find("provider=");
    return at == std::string::npos ? text : text.substr(at + 9, text.find_first_of(" ", at) - at - 9);
  };
  EXPECT_EQ(winner(), "web");  // identity
  EXPECT_EQ(sts.asked(), 1);
  EXPECT_EQ(container.asked(), 0);
  EXPECT_TRUE(instance.seen().empty());
  clean.unset("AWS_WEB_IDENTITY_TOKEN_FILE");
  EXPECT_EQ(winner(), "container");
  EXPECT_EQ(container.asked(), 1);
  EXPECT_TRUE(instance.seen().empty());
  clean.unset("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  EXPECT_EQ(winner(), "instance");
  EXPECT_EQ(container.asked(), 1);
  EXPECT_FALSE(instance.seen().empty());
  // One that is set up and fails is not passed over for the next.
  clean.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", container.uri());
  container.set_status(500);
  f.open(without_keys(f));
  EXPECT_EQ(f.store->list({}).error().code(), ErrorCode::credentials);
  clean.set("AWS_WEB_IDENTITY_TOKEN_FILE", clean.path("no-token"));
  container.set_status(200);
  f.open(without_keys(f));
  EXPECT_NE(f.store->list({}).error().message().find("web identity token file"), std::string::npos);
  clean.unset("AWS_ROLE_ARN");
  f.open(without_keys(f));
  EXPECT_NE(f.store->list({}).error().message().find("store.web_identity_token_file and store.role_arn"),
            std::string::npos);
}

TEST(S3StoreCredentials, UnsignedRequestsCarryNoTraceOfKeys) {
  Fixture f({.check_signatures = false});
  f.server->put_object("bucket", "k", "x");
  S3Options options = without_keys(f);
  options.skip_signature = true;
  f.open(options);
  EXPECT_TRUE(read(*f.store, "k", 0, 1).outcome.info);
  EXPECT_FALSE(f.server->requests().at(0).http.has_header("authorization"));
}

TEST(S3StoreCredentials, UnsignedPayloadIsSigned) {
  Fixture f;
  S3Options options = testing::options_for(*f.server);
  options.unsigned_payload = true;
  f.open(options);
  EXPECT_TRUE(f.store->put({.key = "k", .body = "x"}));
  EXPECT_EQ(f.server->requests().at(0).http.header("x-amz-content-sha256"), "UNSIGNED-PAYLOAD");
}

// Every way to fail that the fault server knows, with everything said about it searched for the secrets.
TEST(S3StoreCredentials, SecretsNeverShow) {
  Fixture f({.secret_key = "TOP/SECRET+KEY", .session_token = "HUSH/TOKEN=="});
  f.server->put_object("bucket", "k", "0123456789");
  std::string said = f.store->describe();
  const auto say = [&](const Error& error) { said += error.describe() + "\n"; };
  for (const char* fault :
       {"times=every status=403 code=SignatureDoesNotMatch body='<Error><Code>SignatureDoesNotMatch</Code><Message>you "
        "said "
        "TOP/SECRET+KEY and HUSH/TOKEN==</Message></Error>'",
        "times=every status=400 code=ExpiredToken", "times=every status=500", "times=every no_answer",
        "times=every status=301 code=PermanentRedirect", "times=every status=200 body='TOP/SECRET+KEY'",
        "times=every status=200 body='<Error><Code>InternalError</Code><Message>you said TOP/SECRET+KEY and "
        "HUSH/TOKEN==</Message></Error>'"}) {
    f.server->clear_faults();
    f.server->add_fault(fault);
    if (auto result = f.store->list({}); !result) say(result.error());
    if (auto result = f.store->get("k", 100); !result) say(result.error());
    if (auto result = f.store->head("k"); !result) say(result.error());
    if (auto result = f.store->put({.key = "k", .body = "x"}); !result) say(result.error());
    if (auto result = read(*f.store, "k", 0, 10); !result.outcome.info) say(result.outcome.info.error());
  }
  S3Options wrong = testing::options_for(*f.server);
  wrong.keys->secret_access_key = "TOP/SECRET+KEY but wrong";
  f.open(wrong);
  say(f.store->list({}).error());
  said += f.log->text();
  EXPECT_GT(said.size(), 1000U);
  EXPECT_NE(said.find("you said *** and ***"), std::string::npos) << said;
  EXPECT_EQ(said.find("TOP/SECRET"), std::string::npos) << said;
  EXPECT_EQ(said.find("HUSH/TOKEN"), std::string::npos) << said;
}

}  // namespace
}  // namespace millrace::s3
