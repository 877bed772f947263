// SPDX-License-Identifier: Apache-2.0
#include "store/s3/s3_options.h"

#include <gtest/gtest.h>

#include <map>

namespace millrace::s3 {
namespace {

using Map = std::map<std::string, std::string>;

Environment of(const Map& variables) {
  return [variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
}

Result<S3Options> read_with(const Map& options, const Map& environment = {}) {
  auto parsed = StoreOptions::parse(options);
  if (!parsed) return fail(parsed.error());
  return read_s3_options("bucket", *parsed, of(environment));
}

S3Options must(const Map& options, const Map& environment = {}) {
  auto read = read_with(options, environment);
  EXPECT_TRUE(read) << read.error().message();
  return read ? *read : S3Options();
}

const Map kKeys = {{"access_key_id", "AK"}, {"secret_access_key", "SK"}};

Map with_keys(Map more) {
  more.insert(kKeys.begin(), kKeys.end());
  return more;
}

TEST(S3Options, DescribedDefaultsAreWhatHappensWithoutTheOption) {
  const S3Options bare = must(kKeys);
  for (const StoreOptions::Known& option : StoreOptions::known()) {
    const std::string name(option.name);
    EXPECT_NE(option.type, "") << name;
    if (option.type == "true or false" && option.default_text != "on AWS, where the bucket's name allows it") {
      EXPECT_TRUE(option.default_text == "false" || name == "http1_only") << name;
    }
    if (option.type != "duration" || option.default_text == "as long as bytes move") continue;
    Map given = kKeys;
    given[name] = option.default_text;
    const S3Options same = must(given);
    EXPECT_EQ(same.connect_timeout, bare.connect_timeout) << name;
    EXPECT_EQ(same.pool_idle_timeout, bare.pool_idle_timeout) << name;
  }
  EXPECT_EQ(bare.connect_timeout, std::chrono::seconds(5));
  EXPECT_EQ(bare.pool_idle_timeout, std::chrono::seconds(30));
  EXPECT_FALSE(bare.request_timeout);
  EXPECT_EQ(bare.region, "us-east-1");
  EXPECT_TRUE(bare.user_agent.starts_with("millrace/"));
}

TEST(S3Options, OptionsWinOverTheEnvironment) {
  const Map environment = {
      {"AWS_REGION", "eu-west-1"}, {"AWS_ENDPOINT_URL", "https://env.test"}, {"AWS_CA_BUNDLE", "/env.pem"}};
  const auto given = must(
      with_keys({{"region", "eu-west-2"}, {"endpoint", "https://s3.test"}, {"ca_bundle", "/ca.pem"}}), environment);
  EXPECT_EQ(given.region, "eu-west-2");
  EXPECT_EQ(given.endpoint, "https://s3.test");
  EXPECT_EQ(given.ca_bundle, "/ca.pem");
  const auto filled = must(kKeys, environment);
  EXPECT_EQ(filled.region, "eu-west-1");
  EXPECT_EQ(filled.endpoint, "https://env.test");
  EXPECT_EQ(filled.ca_bundle, "/env.pem");
  EXPECT_EQ(must(kKeys, {{"AWS_DEFAULT_REGION", "eu-west-3"}}).region, "eu-west-3");
  EXPECT_EQ(must(kKeys).region, "us-east-1");
}

TEST(S3Options, Defaults) {
  const auto options = must(kKeys);
  EXPECT_EQ(options.bucket, "bucket");
  EXPECT_EQ(options.connect_timeout, std::chrono::seconds(5));
  EXPECT_EQ(options.no_progress_timeout, std::chrono::seconds(30));
  EXPECT_FALSE(options.request_timeout);
  EXPECT_FALSE(options.requester_pays);
  EXPECT_FALSE(options.accept_any_certificate);
  EXPECT_TRUE(options.user_agent.starts_with("millrace/"));
}

// `path_style: true` of the sink is virtual_hosted_style_request "false", and holds for AWS too.
TEST(S3Options, PathStyleCanBeAskedFor) {
  EXPECT_FALSE(must({}).path_style);
  EXPECT_TRUE(must({{"virtual_hosted_style_request", "false"}}).path_style);
  EXPECT_FALSE(must({{"virtual_hosted_style_request", "true"}}).path_style);
}

TEST(S3Options, EveryOptionThatIsTakenDoesSomething) {
  const auto options = must({{"aws_access_key_id", "AK"},
                             {"AWS-SECRET-ACCESS-KEY", "SK"},
                             {"token", "T"},
                             {"endpoint_url", "http://10.0.0.1"},
                             {"allow_http", "true"},
                             {"virtual_hosted_style_request", "true"},
                             {"unsigned_payload", "true"},
                             {"request_payer", "true"},
                             {"allow_invalid_certificates", "true"},
                             {"confirm_invalid_certificates", "true"},
                             {"proxy_url", "http://proxy:3128"},
                             {"proxy_excludes", "a.test"},
                             {"user_agent", "x/1"},
                             {"connect_timeout", "1s"},
                             {"timeout", "2s"},
                             {"pool_idle_timeout", "3s"},
                             {"http1_only", "true"},
                             {"disable_tagging", "true"}});
  ASSERT_TRUE(options.keys);
  EXPECT_EQ(options.keys->access_key_id, "AK");
  EXPECT_EQ(options.keys->secret_access_key, "SK");
  EXPECT_EQ(options.keys->session_token, "T");
  EXPECT_EQ(options.endpoint, "http://10.0.0.1");
  EXPECT_TRUE(options.allow_http);
  EXPECT_TRUE(options.virtual_hosted);
  EXPECT_TRUE(options.unsigned_payload);
  EXPECT_TRUE(options.requester_pays);
  EXPECT_TRUE(options.accept_any_certificate);
  EXPECT_EQ(options.proxy_url, "http://proxy:3128");
  EXPECT_EQ(options.proxy_excludes, "a.test");
  EXPECT_EQ(options.user_agent, "x/1");
  EXPECT_EQ(options.connect_timeout, std::chrono::seconds(1));
  EXPECT_EQ(options.request_timeout, std::chrono::seconds(2));
  EXPECT_EQ(options.pool_idle_timeout, std::chrono::seconds(3));
  const auto elsewhere = must({{"imdsv1_fallback", "true"},
                               {"metadata_endpoint", "http://127.0.0.1:1"},
                               {"container_credentials_full_uri", "http://127.0.0.1/f"},
                               {"container_authorization_token_file", "/t"}});
  EXPECT_TRUE(elsewhere.chain.instance.imdsv1_fallback);
  EXPECT_EQ(elsewhere.chain.instance.metadata_endpoint, "http://127.0.0.1:1");
  EXPECT_EQ(elsewhere.chain.container.full_uri, "http://127.0.0.1/f");
  EXPECT_EQ(elsewhere.chain.container.token_file, "/t");
  EXPECT_EQ(must({{"container_credentials_relative_uri", "/r"}}).chain.container.relative_uri, "/r");
}

std::string checked(const std::string& bucket, const Map& options, const Map& environment = {}) {
  auto parsed = StoreOptions::parse(options);
  EXPECT_TRUE(parsed) << parsed.error().message();
  const auto fits = check_s3_options(bucket, *parsed, of(environment));
  return fits ? "ok" : fits.error().message();
}

TEST(S3Options, TheEndpointIsJudgedWithoutAStore) {
  EXPECT_EQ(checked("bucket", {}), "ok");
  EXPECT_EQ(checked("bucket", {{"endpoint", "http://127.0.0.1:9000"}}), "ok");
  EXPECT_NE(checked("bucket", {{"endpoint", "http://127.0.0.1:9000"}, {"virtual_hosted_style_request", "true"}})
                .find("store.virtual_hosted_style_request"),
            std::string::npos);
  EXPECT_NE(checked("a.b", {{"virtual_hosted_style_request", "true"}}).find("no certificate covers"),
            std::string::npos);
  EXPECT_NE(checked("bucket", {{"endpoint", "https://h:99999"}}).find("port"), std::string::npos);
  EXPECT_NE(checked("bucket", {}, {{"AWS_ENDPOINT_URL", "http://minio:9000"}}).find("store.allow_http"),
            std::string::npos);
}

TEST(S3Options, AProxyThatCannotBeUsedIsRefusedWithoutAStore) {
  EXPECT_EQ(checked("bucket", {{"proxy_url", "http://user:pass@proxy:3128"}}), "ok");
  const std::string refused = checked("bucket", {{"proxy_url", "bogus://user:SEKRET@h:99999"}});
  EXPECT_NE(refused.find("store.proxy_url"), std::string::npos);
  EXPECT_EQ(refused.find("SEKRET"), std::string::npos) << refused;
}

TEST(S3Options, OneServerHasOneSpelling) {
  const auto server = [](const std::string& endpoint, const Map& environment = {}) {
    const auto options = StoreOptions::parse(endpoint.empty() ? Map{} : Map{{"endpoint", endpoint}});
    return server_of(*options, of(environment));
  };
  EXPECT_EQ(server("https://S3.test"), server("https://s3.test:443/"));
  EXPECT_EQ(server(""), server("https://s3.eu-west-2.amazonaws.com"));
  EXPECT_EQ(server("", {{"AWS_ENDPOINT_URL_S3", "https://s3.test"}}), server("https://s3.test"));
  EXPECT_NE(server("http://127.0.0.1:9000"), server("http://127.0.0.1:9001"));
  EXPECT_NE(server("https://s3.test"), server("https://s3.test/other"));
  EXPECT_NE(server("https://s3.test"), server(""));
}

}  // namespace
}  // namespace millrace::s3
