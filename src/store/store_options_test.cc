// SPDX-License-Identifier: Apache-2.0
#include "millrace/store/store_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Raw = std::map<std::string, std::string>;

StoreOptions parsed(const Raw& raw) {
  auto options = StoreOptions::parse(raw);
  EXPECT_TRUE(options) << options.error().message();
  return options ? *options : StoreOptions();
}

std::string why_not(const Raw& raw) {
  auto options = StoreOptions::parse(raw);
  if (options) return "accepted";
  EXPECT_EQ(options.error().code(), ErrorCode::config);
  return options.error().message();
}

// The whole accepted list of the requirements, one by one.
TEST(StoreOptions, EveryOptionIsKnown) {
  const Raw values = {{"region", "eu-west-2"},
                      {"endpoint", "https://s3.example.com"},
                      {"allow_http", "true"},
                      {"virtual_hosted_style_request", "true"},
                      {"skip_signature", "false"},
                      {"unsigned_payload", "true"},
                      {"request_payer", "true"},
                      {"profile", "p"},
                      {"role_arn", "arn:aws:iam::123456789012:role/r"},
                      {"external_id", "x"},
                      {"imdsv1_fallback", "true"},
                      {"metadata_endpoint", "http://169.254.169.254"},
                      {"container_credentials_full_uri", "http://169.254.170.23/v1/credentials"},
                      {"container_authorization_token_file", "/var/t"},
                      {"allow_invalid_certificates", "false"},
                      {"ca_bundle", "/etc/ca.pem"},
                      {"proxy_url", "http://proxy:3128"},
                      {"proxy_excludes", "localhost"},
                      {"user_agent", "u"},
                      {"connect_timeout", "5s"},
                      {"timeout", "1m30s"},
                      {"pool_idle_timeout", "250ms"},
                      {"http1_only", "true"},
                      {"max_retries", "10"},
                      {"retry_timeout", "3m"},
                      {"checksum_algorithm", "None"},
                      {"s3_express", "false"},
                      {"disable_tagging", "true"}};
  const StoreOptions options = parsed(values);
  for (const auto& [name, value] : values) EXPECT_TRUE(options.has(name)) << name;
  EXPECT_EQ(options.get("region"), "eu-west-2");
  EXPECT_EQ(options.duration("timeout"), std::chrono::seconds(90));
  EXPECT_EQ(options.duration("connect_timeout"), std::chrono::seconds(5));
  EXPECT_EQ(options.get("checksum_algorithm"), "none");
  EXPECT_TRUE(options.flag("allow_http"));
  EXPECT_FALSE(options.flag("skip_signature"));
  EXPECT_EQ(StoreOptions::known().size(), values.size() + 6)
      << "and confirm_invalid_certificates, and what goes with none of these: access_key_id, secret_access_key, "
         "session_token, web_identity_token_file, container_credentials_relative_uri";
}

TEST(StoreOptions, ARoleIsTakenOnInOneWay) {
  const std::string arn = "arn:aws:iam::123456789012:role/r";
  EXPECT_EQ(why_not({{"role_arn", arn}, {"web_identity_token_file", "/var/run/token"}}), "accepted");
  EXPECT_EQ(why_not({{"role_arn", arn}, {"profile", "p"}, {"external_id", "x"}}), "accepted");
  EXPECT_THAT(why_not({{"external_id", "x"}}), HasSubstr("belongs to store.role_arn"));
  EXPECT_THAT(why_not({{"web_identity_token_file", "/t"}}), HasSubstr("belongs to store.role_arn"));
  for (const char* name : {"profile", "external_id"}) {
    EXPECT_THAT(why_not({{"role_arn", arn}, {"web_identity_token_file", "/t"}, {name, "x"}}),
                HasSubstr(std::string("store.") + name + " and store.web_identity_token_file"));
  }
  EXPECT_THAT(why_not({{"role_arn", arn},
                       {"web_identity_token_file", "/t"},
                       {"access_key_id", "ak"},
                       {"secret_access_key", "TOP-SECRET"}}),
              AllOf(HasSubstr("keep one"), Not(HasSubstr("TOP-SECRET"))));
}

// Whoever would not be asked is refused by name: it was given to be asked.
TEST(StoreOptions, KeysComeFromOnePlace) {
  const Raw keys{{"access_key_id", "ak"}, {"secret_access_key", "TOP-SECRET"}};
  for (const auto& [name, value] : Raw{{"profile", "p"},
                                       {"imdsv1_fallback", "true"},
                                       {"metadata_endpoint", "http://127.0.0.1"},
                                       {"container_credentials_relative_uri", "/r"},
                                       {"container_credentials_full_uri", "http://127.0.0.1/f"}}) {
    Raw both = keys;
    both[name] = value;
    EXPECT_EQ(why_not(both),
              "store." + name + " and store.access_key_id: with keys nobody else is asked for some; keep one");
  }
  for (const auto& [name, value] : Raw{{"profile", "p"},
                                       {"imdsv1_fallback", "true"},
                                       {"metadata_endpoint", "http://127.0.0.1"},
                                       {"container_credentials_full_uri", "http://127.0.0.1/f"}}) {
    EXPECT_EQ(why_not({{"skip_signature", "true"}, {name, value}}),
              "store." + name + " and store.skip_signature: what is not signed needs no keys; keep one");
    EXPECT_EQ(why_not({{"skip_signature", "false"}, {name, value}}), "accepted");
  }
  EXPECT_THAT(why_not({{"container_credentials_relative_uri", "/r"}, {"container_credentials_full_uri", "http://h/f"}}),
              HasSubstr("name two places; keep one"));
  EXPECT_THAT(why_not({{"container_authorization_token_file", "/t"}}), HasSubstr("which is missing"));
  EXPECT_EQ(why_not({{"profile", "p"}, {"container_credentials_relative_uri", "/r"}}), "accepted")
      << "a profile may name the container as its source";
}

// Said by `validate`, long before a store is opened.
TEST(StoreOptions, WhatIsNotAvailableYetIsRefusedByName) {
  for (const auto& [name, value] :
       Raw{{"s3_express", "true"}, {"http1_only", "no"}, {"checksum_algorithm", "crc32c"}}) {
    EXPECT_THAT(why_not({{name, value}}), HasSubstr("store." + name)) << name;
  }
  EXPECT_EQ(why_not({{"checksum_algorithm", "none"}, {"s3_express", "false"}, {"http1_only", "true"}}), "accepted");
  EXPECT_THAT(why_not({{"connect_timeout", "0s"}}), HasSubstr("store.connect_timeout"));
  EXPECT_THAT(why_not({{"timeout", "0ms"}}), HasSubstr("store.timeout"));
}

TEST(StoreOptions, AnySpelling) {
  const StoreOptions options = parsed({{"AWS_ACCESS_KEY_ID", "ak"},
                                       {"aws-secret-access-key", "sk"},
                                       {"Token", "t"},
                                       {"AWS_DEFAULT_REGION", "r"},
                                       {"endpoint-url", "https://h"},
                                       {"Allow_HTTP", "TRUE"}});
  EXPECT_EQ(options.get("access_key_id"), "ak");
  EXPECT_EQ(options.get("secret_access_key"), "sk");
  EXPECT_EQ(options.get("session_token"), "t");
  EXPECT_EQ(options.get("region"), "r");
  EXPECT_EQ(options.get("endpoint"), "https://h");
  EXPECT_EQ(options.get("allow_http"), "true");
  EXPECT_FALSE(options.empty());
  EXPECT_TRUE(parsed({}).empty());
  EXPECT_EQ(options.get("timeout"), "");
  EXPECT_EQ(options.duration("timeout"), std::nullopt);
}

TEST(StoreOptions, CanonicalNames) {
  EXPECT_EQ(StoreOptions::canonical_name("AWS-Endpoint-URL"), "endpoint");
  EXPECT_EQ(StoreOptions::canonical_name("token"), "session_token");
  EXPECT_EQ(StoreOptions::canonical_name("tokens"), std::nullopt);
}

TEST(StoreOptions, UnknownNamesGetTheNearest) {
  EXPECT_THAT(why_not({{"regoin", "x"}}), AllOf(HasSubstr("store.regoin"), HasSubstr("'region'")));
  EXPECT_THAT(why_not({{"aws_acces_key", "x"}}), HasSubstr("'access_key_id'"));
  EXPECT_THAT(why_not({{"endpoint_uri", "x"}}), HasSubstr("'endpoint'"));
  EXPECT_THAT(why_not({{"completely_else", "x"}}), AllOf(HasSubstr("completely_else"), Not(HasSubstr("did you mean"))));
}

TEST(StoreOptions, TheBucketBelongsToTheUrlInEverySpelling) {
  for (const char* name :
       {"bucket", "Bucket", "aws_bucket", "AWS-BUCKET", "bucket_name", "bucket-name", "aws_bucket_name"}) {
    EXPECT_THAT(why_not({{name, "b"}}), AllOf(HasSubstr(name), HasSubstr("part of the url"))) << name;
  }
}

TEST(StoreOptions, OneOptionUnderTwoNames) {
  EXPECT_THAT(why_not({{"region", "a"}, {"aws_default_region", "a"}}),
              AllOf(HasSubstr("store.region"), HasSubstr("store.aws_default_region"), HasSubstr("same option")));
}

TEST(StoreOptions, ValuesAreChecked) {
  EXPECT_THAT(why_not({{"allow_http", "maybe"}}), HasSubstr("store.allow_http must be true or false"));
  EXPECT_THAT(why_not({{"timeout", "30"}}), HasSubstr("store.timeout must be a duration"));
  EXPECT_THAT(why_not({{"timeout", "1s1m"}}), HasSubstr("duration"));
  EXPECT_THAT(why_not({{"timeout", "-1s"}}), HasSubstr("duration"));
  EXPECT_THAT(why_not({{"timeout", "9999999999999999999h"}}), HasSubstr("duration"));
  EXPECT_THAT(why_not({{"timeout", "9999999999d"}}), HasSubstr("duration"));
  EXPECT_THAT(why_not({{"timeout", ""}}), HasSubstr("duration"));
  EXPECT_THAT(why_not({{"max_retries", "many"}}), HasSubstr("whole number"));
  // No value is offered that is refused when it is given.
  EXPECT_EQ(why_not({{"checksum_algorithm", "md5"}}),
            "store.checksum_algorithm must be none, or left out: there is no choice of another checksum yet");
  EXPECT_THAT(why_not({{"region", ""}}), HasSubstr("is empty"));
  EXPECT_THAT(why_not({{"user_agent", "a\r\nx-evil: 1"}}), HasSubstr("line end"));
}

TEST(StoreOptions, AllProblemsAtOnce) {
  EXPECT_THAT(why_not({{"regoin", "x"}, {"timeout", "x"}, {"bucket", "b"}}),
              AllOf(HasSubstr("regoin"), HasSubstr("timeout"), HasSubstr("bucket")));
}

TEST(StoreOptions, B01_EndpointIsOneUrl) {
  EXPECT_EQ(parsed({{"endpoint", "http://127.0.0.1:9000"}}).get("endpoint"), "http://127.0.0.1:9000");
  EXPECT_EQ(parsed({{"endpoint", "http://127.0.0.1:9000/"}}).get("endpoint"), "http://127.0.0.1:9000");
  EXPECT_THAT(why_not({{"endpoint", "http://127.0.0.1:9000//"}}), HasSubstr("'//'"));
  EXPECT_THAT(why_not({{"endpoint", "127.0.0.1:9000"}}), HasSubstr("http:// or https://"));
  EXPECT_THAT(why_not({{"endpoint", "https://"}}), HasSubstr("no host"));
  EXPECT_THAT(why_not({{"endpoint", "https://:9000"}}), HasSubstr("no host"));
  EXPECT_THAT(why_not({{"endpoint", "https://h?x=1"}}), HasSubstr("query"));
}

TEST(StoreOptions, HttpNeedsLeaveExceptOnLoopback) {
  for (const char* endpoint : {"http://127.0.0.1:9000", "http://localhost", "http://[::1]:9000", "http://127.9.9.9"}) {
    EXPECT_EQ(why_not({{"endpoint", endpoint}}), "accepted") << endpoint;
  }
  for (const char* endpoint : {"http://minio:9000", "http://127.0.0.1.example.com", "http://localhost.example.com",
                               "http://[::2]", "HTTP://10.0.0.1"}) {
    EXPECT_THAT(why_not({{"endpoint", endpoint}}), HasSubstr("store.allow_http: \"true\"")) << endpoint;
    EXPECT_EQ(why_not({{"endpoint", endpoint}, {"allow_http", "true"}}), "accepted") << endpoint;
  }
}

TEST(StoreOptions, CredentialsComeTogether) {
  EXPECT_THAT(why_not({{"access_key_id", "ak"}}), HasSubstr("give both or neither"));
  EXPECT_THAT(why_not({{"secret_access_key", "sk"}}), HasSubstr("give both or neither"));
  EXPECT_THAT(why_not({{"token", "t"}}), HasSubstr("store.session_token"));
}

TEST(StoreOptions, B04_InvalidCertificatesNeedConfirmation) {
  EXPECT_THAT(why_not({{"allow_invalid_certificates", "true"}}), HasSubstr("confirm_invalid_certificates"));
  EXPECT_EQ(why_not({{"allow_invalid_certificates", "true"}, {"confirm_invalid_certificates", "true"}}), "accepted");
}

// Whatever goes wrong, no value of the map is repeated: a key may have been pasted into the wrong place.
TEST(StoreOptions, NoMessageHoldsAValue) {
  const std::string secret = "wJalrXUtnFEMI";
  for (const StoreOptions::Known& option : StoreOptions::known()) {
    const std::string name(option.name);
    EXPECT_THAT(why_not({{name, secret + "\n"}, {"bucket", secret}}), Not(HasSubstr(secret))) << name;
    EXPECT_THAT(why_not({{name + "x", secret}, {"bucket", secret}}), Not(HasSubstr(secret))) << name;
  }
  EXPECT_THAT(why_not({{"endpoint", "https://ak:" + secret + "@h"}}), Not(HasSubstr(secret)));
}

}  // namespace
}  // namespace millrace
