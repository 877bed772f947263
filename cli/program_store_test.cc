// SPDX-License-Identifier: Apache-2.0
// The built program against the project's own S3 server: the job itself, and the mistakes people make with a store.
// Each ends with a message that names the thing, exits with 1, writes nothing, and tells no secret.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/program_run.h"
#include "tests/s3_fault_server/fault_server.h"

namespace millrace::cli_test {
namespace {

using millrace::testing::FaultServer;
using ::testing::HasSubstr;
using ::testing::Not;

struct Bucket : ::testing::Test {
  void SetUp() override {
    auto started = FaultServer::start();
    ASSERT_TRUE(started);
    server = *std::move(started);
    server->put_object("bucket", "in/a.ndjson", "{\"n\":1}\n{\"n\":2}\n");
  }
  /// A copy from s3://`bucket`/in/ to out/.
  [[nodiscard]] std::vector<std::string> copy(const std::string& bucket, const std::string& endpoint,
                                              const std::string& secret) const {
    return {"run",
            "--from",
            fmt::format("s3://{}/in/", bucket),
            "--to",
            folder.url("out/"),
            "--set",
            "source.s3.store.endpoint=" + endpoint,
            "--set",
            "source.s3.store.region=us-east-1",
            "--set",
            "source.s3.store.access_key_id=AKIDEXAMPLE",
            "--set",
            "source.s3.store.secret_access_key=" + secret,
            "--log-level",
            "debug"};
  }
  [[nodiscard]] std::string secret() const { return server->options().secret_key; }

  ScratchFolder folder;
  std::unique_ptr<FaultServer> server;
};

TEST_F(Bucket, IsCopiedToFiles) {
  const Ended ended = millrace(copy("bucket", server->endpoint(), secret()));
  EXPECT_EQ(ended.code, 0) << ended.err;
  std::string out;
  for (const auto& [name, bytes] : folder.files("out")) out += bytes;
  EXPECT_EQ(out, "{\"n\":1}\n{\"n\":2}\n");
  EXPECT_THAT(ended.err, Not(HasSubstr(secret())));
}

TEST_F(Bucket, AndBackWithItsPositionBesideTheOutput) {
  folder.write("in/b.ndjson", "{\"n\":3}\n");
  const std::vector<std::string> arguments{"run",
                                           "--from",
                                           folder.url("in/"),
                                           "--to",
                                           "s3://bucket/out/",
                                           "--set",
                                           "sink.s3.endpoint=" + server->endpoint(),
                                           "--set",
                                           "sink.s3.region=us-east-1",
                                           "--set",
                                           "sink.s3.access_key_id=AKIDEXAMPLE",
                                           "--set",
                                           "sink.s3.secret_access_key=" + secret()};
  const Ended ended = millrace(arguments);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("s3://bucket/.out.millrace-"));
  const Ended again = millrace(arguments);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("0 in, 0 out"));
  EXPECT_THAT(ended.err + again.err, Not(HasSubstr(secret())));
}

TEST_F(Bucket, WrongCredentialsAreNamedWithoutTheSecret) {
  const std::string wrong = "hunter2hunter2hunter2hunter2hunter2hunt";
  const Ended ended = millrace(copy("bucket", server->endpoint(), wrong));
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("SignatureDoesNotMatch"));
  EXPECT_THAT(ended.err, HasSubstr("s3://bucket"));
  EXPECT_THAT(ended.err, Not(HasSubstr(wrong)));
  EXPECT_TRUE(folder.files("out").empty());
}

TEST_F(Bucket, ABucketThatIsNotThereIsNamed) {
  const Ended ended = millrace(copy("no-such-bucket", server->endpoint(), secret()));
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("NoSuchBucket"));
  EXPECT_THAT(ended.err, HasSubstr("no-such-bucket"));
  EXPECT_TRUE(folder.files("out").empty());
}

TEST_F(Bucket, AnEndpointThatNobodyServesIsNamed) {
  const std::string endpoint = server->endpoint();
  const std::string key = secret();
  server.reset();  // its port answers nobody now
  std::vector<std::string> arguments = copy("bucket", endpoint, key);
  arguments.insert(arguments.end(),
                   {"--set", "source.s3.store.max_retries=1", "--set", "source.s3.store.retry_timeout=100ms"});
  const Ended ended = millrace(arguments);
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(endpoint.substr(std::string("http://").size())));
  EXPECT_THAT(ended.err, HasSubstr("Failed after "));
  EXPECT_TRUE(folder.files("out").empty());
}

TEST_F(Bucket, AnUnknownStoreOptionIsRefusedWithTheNearest) {
  std::vector<std::string> arguments = copy("bucket", server->endpoint(), secret());
  arguments.insert(arguments.end(), {"--set", "source.s3.store.regoin=x"});
  const Ended ended = millrace(arguments);
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("regoin"));
  EXPECT_THAT(ended.err, HasSubstr("'region'"));
  EXPECT_EQ(server->count("ListObjectsV2"), 0U);
}

}  // namespace
}  // namespace millrace::cli_test
