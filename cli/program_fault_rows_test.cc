// SPDX-License-Identifier: Apache-2.0
// Goal: fault rows whose right behaviour is the program's own: how it ends, what it says, and that a signal is heard
// while a server stands still. Method: the built program against files and the project's own S3 server.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program_run.h"
#include "tests/s3_fault_server/fault_server.h"

namespace millrace::cli_test {
namespace {

using millrace::testing::FaultServer;
using ::testing::HasSubstr;

struct FaultRows : ::testing::Test {
  [[nodiscard]] std::vector<std::string> copy(const std::string& from, const std::vector<std::string>& settings) const {
    std::vector<std::string> all{"run", "--from", from, "--to", folder.url("out/")};
    for (const auto& setting : settings) all.insert(all.end(), {"--set", setting});
    return all;
  }
  /// Copies from the bucket, and gets SIGTERM as soon as `count` requests of `operation` have come.
  [[nodiscard]] Ended stopped_at(const std::string& operation, std::size_t count) {
    Child child(
        copy("s3://bucket/in/", {"source.s3.store.endpoint=" + server->endpoint(), "source.s3.store.region=us-east-1",
                                 "source.s3.store.access_key_id=" + server->options().access_key,
                                 "source.s3.store.secret_access_key=" + server->options().secret_key}));
    EXPECT_TRUE(server->wait_for(operation, count)) << child.err();
    child.signal(SIGTERM);
    return child.wait();
  }

  ScratchFolder folder;
  std::unique_ptr<FaultServer> server = *FaultServer::start({.page_size = 1});
};

/// As the store would judge it, for a bucket named "bucket".
bool allowed(const nlohmann::json& rights, const std::string& operation, const std::string& key) {
  const std::string action = operation == "ListObjectsV2" ? "s3:ListBucket"
                             : operation == "HeadObject"  ? "s3:GetObject"
                                                          : "s3:" + operation;
  const std::string object = "s3://bucket/" + key;
  return std::ranges::any_of(rights, [&](const nlohmann::json& right) {
    if (right["action"] != action) return false;
    std::string on = right["on"];
    if (action == "s3:ListBucket") return on == "s3://bucket, where s3:prefix is " + key;
    if (!on.ends_with('*')) return on == object;
    on.pop_back();
    return object.starts_with(on);
  });
}

// Listing with the prefix, GET and PUT inside it, and nothing else; and a plan tells of each.
TEST_F(FaultRows, B05_ARunFromBucketToBucketNeedsTheLeastPolicyOnly) {
  server = *FaultServer::start({.allowed_prefix = "job/"});
  server->put_object("bucket", "job/in/a.ndjson", "{\"n\":1}\n{\"n\":2}\n");
  server->put_object("bucket", "secret/b.ndjson", "{\"n\":3}\n");
  server->add_fault("op=DeleteObject times=every status=403 code=AccessDenied");
  const std::string store =
      fmt::format("{{endpoint: \"{}\", region: us-east-1, access_key_id: \"{}\", secret_access_key: \"{}\"}}",
                  server->endpoint(), server->options().access_key, server->options().secret_key);
  const std::string file = folder.write(
      "run.yaml", fmt::format("pipeline: {{name: least}}\n"
                              "source: {{s3: {{url: s3://bucket/job/in/, name: input, checkpoint: {{url: "
                              "s3://bucket/job/state/m.json}}, store: {0}}}}}\n"
                              "sink: {{s3: {{url: s3://bucket/job/out/, output_format: raw, delimiter: \"\\n\", "
                              "extension: ndjson, path_template: \"{{topic}}\", store: {0}}}}}\n",
                              store));
  const Ended planned = millrace({"plan", file, "--format", "json"});
  ASSERT_EQ(planned.code, 0) << planned.err;
  const nlohmann::json rights = nlohmann::json::parse(planned.out).at("rights");
  const Ended ended = millrace({"run", file});
  EXPECT_EQ(ended.code, 0) << ended.err;
  std::string written;
  for (const auto& request : server->requests("PutObject")) {
    if (request.key.starts_with("job/out/input/")) written += request.http.body;
  }
  EXPECT_EQ(written, "{\"n\":1}\n{\"n\":2}\n");
  for (const auto& request : server->requests()) {
    const bool left_there = request.operation == "DeleteObject" && request.key == "job/out/.millrace-probe";
    EXPECT_TRUE(request.status < 300 || request.status == 404 || request.status == 412 || left_there)
        << request.operation << " " << request.key << " " << request.status;
  }
  EXPECT_EQ(server->count("Other"), 0U);
  for (const auto& request : server->requests()) {
    EXPECT_TRUE(allowed(rights, request.operation, request.key))
        << "the plan tells of no right to " << request.operation << " " << request.key << ": " << rights;
  }
  EXPECT_FALSE(allowed(rights, "DeleteObject", "job/out/input/x"));
  EXPECT_FALSE(allowed(rights, "PutObject", "job/in/a.ndjson"));
}

TEST_F(FaultRows, C10_C12_WhatIsNoNdjsonFailsWithAHintEachTime) {
  const auto expect_hint = [&](const std::string& text, const std::string& hint) {
    folder.write("in/a.ndjson", text);
    for (int attempt = 0; attempt < 2; ++attempt) {
      const Ended ended = millrace(copy(folder.url("in/"), {"decode.json.on_error=fail"}));
      EXPECT_EQ(ended.code, 1) << ended.err;
      EXPECT_THAT(ended.err, HasSubstr("in/a.ndjson"));
      EXPECT_THAT(ended.err, HasSubstr("record 1 of "));
      EXPECT_THAT(ended.err, HasSubstr(hint));
      EXPECT_TRUE(folder.files("out").empty());
    }
  };
  expect_hint("{\"n\":1}{\"n\":2}{\"n\":3}", "side by side without a newline");
  expect_hint("{\n  \"n\": 1\n}\n", "printed over several lines");
}

TEST_F(FaultRows, E05_SigtermIsHeardDuringTheListing) {
  for (const char* key : {"in/0", "in/1", "in/2"}) server->put_object("bucket", key, "1\n");
  server->add_fault("op=ListObjectsV2 skip=1 times=every delay_ms=3600000");
  const Ended ended = stopped_at("ListObjectsV2", 2);
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("Stopped after "));
  EXPECT_TRUE(folder.files("out").empty());
}

TEST_F(FaultRows, G06_SigtermIsHeardDuringAStall) {
  server->put_object("bucket", "in/a", "1\n2\n3\n4\n");
  server->add_fault("op=GetObject key=in/a times=every stall_after=3");
  const Ended ended = stopped_at("GetObject", 1);
  EXPECT_EQ(ended.code, 3) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("Stopped after "));
}

}  // namespace
}  // namespace millrace::cli_test
