// SPDX-License-Identifier: Apache-2.0
// Connector files of Iggy's runtime as pipeline files. The first is the one of its own documentation.
#include "cli/import_iggy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "millrace/config/config.h"

namespace millrace::cli {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kDocumented = R"(type = "sink"
key = "s3"
enabled = true
version = 0
name = "S3 sink"
path = "target/release/libiggy_connector_s3_sink"
plugin_config_format = "toml"

[[streams]]
stream = "application_logs"
topics = ["api_requests", "errors"]
schema = "json"
batch_length = 1000
poll_interval = "100ms"
consumer_group = "s3_sink"

[plugin_config]
bucket = "my-data-lake"
prefix = "iggy/raw"
region = "us-east-1"
path_template = "{stream}/{topic}/{date}/{hour}"
file_rotation = "size"
max_file_size = "8MiB"
output_format = "json_lines"
)";

Result<TomlValue> parsed(const std::string& toml) {
  std::string name = (std::filesystem::temp_directory_path() / "millrace-import-XXXXXX").string();
  const int descriptor = ::mkstemp(name.data());
  if (descriptor < 0) std::abort();
  ::close(descriptor);
  std::ofstream(name) << toml;
  auto value = read_toml(name);
  std::filesystem::remove(name);
  return value;
}

Result<ImportedPipeline> imported(const std::string& toml, ImportRequest request = {}) {
  const auto connector = parsed(toml);
  if (!connector) return fail(connector.error());
  return import_iggy(*connector, "s3.toml", request);
}

std::string refused(const std::string& toml, ImportRequest request = {}) {
  const auto result = imported(toml, std::move(request));
  return result ? "imported" : result.error().message();
}

/// With other lines in [plugin_config].
std::string with(const std::string& plugin, const std::string& behind = "") {
  return "type = \"sink\"\nkey = \"k\"\n[[streams]]\nstream = \"s\"\ntopics = [\"t\"]\nschema = "
         "\"json\"\n[plugin_config]\n"
         "bucket = \"b\"\nregion = \"r\"\n" +
         plugin + "\n" + behind;
}

TEST(ImportIggy, TheDocumentedFile) {
  const auto result = imported(kDocumented);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->yaml, R"(# From s3.toml, the connector s3 of Apache Iggy's runtime.
# the address is the runtime's default; give --runtime, or change it
# the password is not copied: set IGGY_PASSWORD
# a quiet partition is written after five minutes (max_file_age), and a key is never overwritten (if_exists); --compat keeps Iggy's ways
pipeline:
  name: "s3"
source:
  iggy:
    address: "localhost:8090"
    username: "iggy"
    password: ${IGGY_PASSWORD}
    stream: "application_logs"
    topics: ["api_requests", "errors"]
    consumer_group: "s3_sink"
    batch_length: 1000
    poll_interval: 100ms
decode:
  json: {}
sink:
  s3:
    bucket: "my-data-lake"
    prefix: "iggy/raw"
    region: "us-east-1"
    path_template: "{stream}/{topic}/{date}/{hour}"
    file_rotation: size
    max_file_size: 8MiB
    output_format: json_lines
)");
  EXPECT_EQ(result->notes.size(), 3U);
}

TEST(ImportIggy, CompatKeepsIggysWays) {
  const auto result = imported(kDocumented, {.compat = true});
  ASSERT_TRUE(result);
  EXPECT_THAT(result->yaml, HasSubstr("  s3:\n    compat: iggy\n"));
  EXPECT_THAT(result->notes, Not(Contains(HasSubstr("--compat"))));
}

TEST(ImportIggy, SecretsAreNotCopied) {
  const auto runtime = parsed("[iggy]\naddress = \"broker:8090\"\nusername = \"ann\"\npassword = \"hunter2\"\n");
  ASSERT_TRUE(runtime);
  const auto result = imported(with("access_key_id = \"AKIA1\"\nsecret_access_key = \"very-secret\"\n"
                                    "endpoint = \"http://localhost:9000\""),
                               {.runtime = &*runtime});
  ASSERT_TRUE(result);
  EXPECT_THAT(result->yaml,
              AllOf(HasSubstr("address: \"broker:8090\""), HasSubstr("username: \"ann\""),
                    HasSubstr("password: ${IGGY_PASSWORD}"), HasSubstr("access_key_id: ${S3_ACCESS_KEY_ID}\n"),
                    HasSubstr("secret_access_key: ${S3_SECRET_ACCESS_KEY}\n"), HasSubstr("allow_http: \"true\"")));
  for (const char* secret : {"hunter2", "very-secret", "AKIA1"}) EXPECT_THAT(result->yaml, Not(HasSubstr(secret)));
  const auto token =
      parsed("[iggy]\ntoken = \"file:~/iggy.token\"\n[iggy.tls]\nenabled = true\nca_file = \"ca.pem\"\n");
  const auto by_token = imported(with(""), {.runtime = &*token});
  EXPECT_THAT(by_token->yaml, AllOf(HasSubstr("token_file: \"~/iggy.token\"\n"), Not(HasSubstr("password")),
                                    HasSubstr("tls: {enabled: true, ca_file: \"ca.pem\"}\n")));
}

TEST(ImportIggy, WhatHasNoCounterpartIsNamed) {
  const auto result =
      imported(with("bukcet_acl = \"x\"\noutput_format = \"raw\"\ninclude_metadata = true\n"
                    "max_file_size = \"1 MiB\"\nretry_delay = \"2min\"",
                    "[transforms.avro_convert]\nenabled = true\n[transforms.delete_fields]\n"
                    "enabled = false\n[custom]\nx = 1\n"));
  ASSERT_TRUE(result);
  EXPECT_THAT(result->yaml, AllOf(HasSubstr("delimiter: \"\"\n"), HasSubstr("max_file_size: 1MiB\n"),
                                  Not(HasSubstr("transforms:\n")), Not(HasSubstr("    include_metadata"))));
  for (const char* what : {"[plugin_config] bukcet_acl has no counterpart", "include_metadata does nothing",
                           "transforms.avro_convert has no counterpart", "transforms.delete_fields is not enabled",
                           "custom has no counterpart", "retry_delay '2min' is no duration"}) {
    EXPECT_THAT(result->notes, Contains(HasSubstr(what)));
  }
}

TEST(ImportIggy, TransformsKeepTheOrderOfTheFile) {
  const auto result = imported(with("",
                                    "[transforms.unwrap_envelope]\nenabled = true\nfield = \"after $x\"\n"
                                    "[transforms.add_fields]\nenabled = true\n"
                                    "[[transforms.add_fields.fields]]\nkey = \"n\"\nvalue.static = 5\n"));
  ASSERT_TRUE(result);
  EXPECT_THAT(result->yaml,
              HasSubstr("transforms:\n  - unwrap_envelope: {\"field\": \"after $$x\"}\n"
                        "  - add_fields: {\"fields\": [{\"key\": \"n\", \"value\": {\"static\": 5}}]}\n"));
  EXPECT_THAT(result->notes, Contains(HasSubstr("in the order of this file")));
  // What was written is read back: the dollar is no variable.
  const auto config =
      Config::parse(result->yaml, "p.yaml", [](std::string_view) { return std::optional<std::string>("x"); });
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->section("transforms").items()[0].section("unwrap_envelope.field").text(), "after $x");
}

TEST(ImportIggy, InfinityIsANumberStill) {
  const auto result =
      imported(with("",
                    "[transforms.add_fields]\nenabled = true\n"
                    "[[transforms.add_fields.fields]]\nkey = \"n\"\nvalue.static = [-inf, nan, \"inf\"]\n"));
  ASSERT_TRUE(result);
  EXPECT_THAT(result->yaml, HasSubstr("\"static\": [-.inf, .nan, \"inf\"]"));
}

// There a dot is part of a name; here it would lead into an object.
TEST(ImportIggy, DotsInNamesStayDots) {
  const auto result = imported(with("", "[transforms.delete_fields]\nenabled = true\nfields = [\"a.b\"]\n"));
  ASSERT_TRUE(result);
  EXPECT_THAT(result->yaml, HasSubstr("delete_fields: {\"fields\": [\"a\\\\.b\"]}"));
}

TEST(ImportIggy, WhatCannotBeOnePipelineIsRefused) {
  EXPECT_THAT(refused("type = \"source\"\n"), HasSubstr("type is 'source'"));
  EXPECT_THAT(refused("type = \"sink\"\npath = \"libpostgres\"\n"),
              AllOf(HasSubstr("names no bucket"), HasSubstr("libpostgres")));
  EXPECT_THAT(refused("type = \"sink\"\n[plugin_config]\nbucket = \"b\"\n"), HasSubstr("no [[streams]]"));
  const std::string two =
      std::string(kDocumented) + "[[streams]]\nstream = \"other\"\ntopics = [\"t\"]\nschema = \"raw\"\n";
  EXPECT_THAT(refused(two), AllOf(HasSubstr("application_logs, other"), HasSubstr("--stream NAME")));
  EXPECT_THAT(refused(two, {.stream = "third"}), HasSubstr("--stream NAME"));
  const auto other = imported(two, {.stream = "other"});
  ASSERT_TRUE(other);
  EXPECT_THAT(other->yaml, AllOf(HasSubstr("stream: \"other\""), HasSubstr("consumer_group: \"iggy-connect-sink-s3\""),
                                 HasSubstr("decode:\n  raw: {}")));
  EXPECT_THAT(refused("type = \n"), HasSubstr(":1:8: is no TOML"));
  EXPECT_THAT(read_toml("/nowhere/s3.toml").error().message(), HasSubstr("/nowhere/s3.toml cannot be opened"));
}

}  // namespace
}  // namespace millrace::cli
