// SPDX-License-Identifier: Apache-2.0
// Goal: rows J of the faults as far as the store can show them. Method: the fault server, which plays the rows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/s3_store/upload_rig.h"

namespace millrace::s3 {
namespace {

using testing::Fixture;
using testing::operations;
using testing::patterned;
using testing::upload;

TEST(S3StoreFaults, J01_ETagHeadersOfAnySpelling) {
  Fixture f;
  const std::string etag = "\"9dd4e461268c8034f5c8564e155c67a6\"";  // md5sum of "x"
  for (const char* fault :
       {"header='etag: {}'", "header='ETAG: {}'", "header='eTaG:   {}  '", "header='ETag: \\x0d\\x0a {}'",
        "header='etag: \\x0d\\x0a\\x09{}'", "status_line='HTTP/1.0 200 OK'", "status_line='HTTP/1.0 200'"}) {
    for (const char* operation : {"UploadPart", "PutObject"}) {
      f.server->add_fault(fmt::format("op={} ", operation) + fmt::format(fmt::runtime(fault), etag));
    }
    const auto put = f.store->put({.key = "k", .body = "x"});
    ASSERT_TRUE(put) << fault << ": " << put.error().describe();
    EXPECT_EQ(put->etag.value, etag) << fault;
    const auto done = upload(f, "k", "x", PartPlan::make(1, 1).value());
    EXPECT_TRUE(done) << fault << ": " << done.error().describe();
    EXPECT_TRUE(f.server->all_faults_happened());
    f.server->clear_faults();
  }
}

TEST(S3StoreFaults, J01_WithoutAnETagAPartIsNotStoredAndMayBeTriedAgain) {
  Fixture f;
  const auto id = f.store->begin_upload({.key = "k"});
  ASSERT_TRUE(id);
  f.server->add_fault("op=UploadPart no_etag");
  const auto put = f.store->put_part(*id, 1, "x");
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code(), ErrorCode::bad_response);
  EXPECT_TRUE(put.error().is_retryable());
  EXPECT_EQ(f.server->count("UploadPart"), 1U) << "how often is the caller's matter";
  const auto again = f.store->put_part(*id, 1, "x");
  ASSERT_TRUE(again) << again.error().describe();
  const PartResult parts[] = {*again};
  EXPECT_TRUE(f.store->complete_upload(*id, parts));
}

TEST(S3StoreFaults, J03_PartsOfAPlanPassBothRulesOfAStrictServer) {
  for (const std::size_t record : {3'000'000U, 7'000'000U}) {
    Fixture f({.parts = {.least_bytes = 5'242'880, .equal_sizes = true}});
    const std::string bytes = patterned(record * 4);
    const auto plan = PartPlan::make(bytes.size(), 1).value();
    ASSERT_GT(plan.parts(), 2);
    const auto done = upload(f, "k", bytes, plan);
    ASSERT_TRUE(done) << done.error().describe();
    EXPECT_TRUE(*f.server->object("bucket", "k")->bytes == bytes);
  }
}

TEST(S3StoreFaults, J03_PartsThatAreTooSmallAreNamedAsSuch) {
  Fixture f({.parts = {.least_bytes = 5'242'880}});
  const auto done = upload(f, "k", "abcd", PartPlan::make(4, 2, {.least_part_bytes = 1}).value());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::invalid_request);
  EXPECT_NE(done.error().message().find("5 MiB"), std::string::npos) << done.error().message();
}

TEST(S3StoreFaults, J04_PartsGrowWhereTheServerTakesTwenty) {
  Fixture f({.parts = {.most_parts = 20}});
  const std::string bytes = patterned(2'000'000);  // the row's 200 MB, and its parts, by a hundredth
  const UploadLimits limits{.least_part_bytes = 52'429, .most_parts = 20};
  const auto done = upload(f, "k", bytes, PartPlan::make(bytes.size(), 52'429, limits).value());
  ASSERT_TRUE(done) << done.error().describe();
  EXPECT_LE(f.server->count("UploadPart"), 20U);
  EXPECT_TRUE(*f.server->object("bucket", "k")->bytes == bytes);
  const auto id = f.store->begin_upload({.key = "k"});
  ASSERT_TRUE(id);
  const auto beyond = f.store->put_part(*id, 21, "x");
  ASSERT_FALSE(beyond);
  EXPECT_TRUE(beyond.error().is_fatal()) << beyond.error().describe();
}

TEST(S3StoreFaults, J06_AnUploadThatTheBucketsRuleHasAbortedIsNotFound) {
  Fixture f;
  const auto id = f.store->begin_upload({.key = "k"});
  ASSERT_TRUE(id);
  const auto part = f.store->put_part(*id, 1, "x");
  ASSERT_TRUE(part);
  EXPECT_EQ(f.server->end_uploads("bucket"), 1U);
  const PartResult parts[] = {*part};
  for (const Error& error : {f.store->complete_upload(*id, parts).error(), f.store->put_part(*id, 2, "y").error()}) {
    EXPECT_EQ(error.code(), ErrorCode::not_found) << error.describe();
    EXPECT_TRUE(error.is_fatal()) << "to ask again brings the same answer";
    EXPECT_NE(error.message().find("NoSuchUpload"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("upload it again"), std::string::npos) << error.message();
  }
  EXPECT_TRUE(f.store->abort_upload(*id));
  EXPECT_EQ(f.store->head("k").error().code(), ErrorCode::not_found);
}

// The completion works and its answer is lost: the store repeats it where the connection looks stale, or says so; what
// is left in the end is NoSuchUpload and an object that HEAD shows.
TEST(S3StoreFaults, J06_ALostAnswerOfACompletionIsSettledByAHead) {
  for (const char* fault : {"op=CompleteMultipartUpload no_answer",
                            "op=CompleteMultipartUpload error_after_success status=500 code=InternalError"}) {
    Fixture f;
    const std::string bytes = patterned(1000);
    const auto id = f.store->begin_upload({.key = "k", .metadata = {{"millrace-xxh3", "0123"}}});
    ASSERT_TRUE(id);
    const auto part = f.store->put_part(*id, 1, bytes);
    ASSERT_TRUE(part);
    const PartResult parts[] = {*part};
    f.server->add_fault(fault);
    auto done = f.store->complete_upload(*id, parts, PutCondition::if_absent);
    ASSERT_FALSE(done) << fault;
    if (done.error().is_retryable()) done = f.store->complete_upload(*id, parts, PutCondition::if_absent);
    ASSERT_FALSE(done) << fault;
    EXPECT_EQ(done.error().code(), ErrorCode::not_found) << done.error().describe();
    const auto head = f.store->head("k");
    ASSERT_TRUE(head) << head.error().describe();
    EXPECT_EQ(head->info.size, 1000U);
    EXPECT_EQ(head->metadata, (std::vector<std::pair<std::string, std::string>>{{"millrace-xxh3", "0123"}}));
  }
}

TEST(S3StoreFaults, J08_NothingButPutAndTheCallsOfAnUploadIsSent) {
  Fixture f;
  ASSERT_TRUE(f.store->put({.key = "a", .body = "x", .condition = PutCondition::if_absent}));
  EXPECT_EQ(operations(f), std::vector<std::string>{"PutObject"});
  f.server->clear_log();
  ASSERT_TRUE(upload(f, "b", "xyz", PartPlan::make(3, 2, {.least_part_bytes = 1}).value()));
  EXPECT_EQ(operations(f),
            (std::vector<std::string>{"CreateMultipartUpload", "UploadPart", "UploadPart", "CompleteMultipartUpload"}));
  f.server->clear_log();
  const auto id = f.store->begin_upload({.key = "c"});
  ASSERT_TRUE(id);
  ASSERT_TRUE(f.store->abort_upload(*id));
  EXPECT_EQ(operations(f), (std::vector<std::string>{"CreateMultipartUpload", "AbortMultipartUpload"}));
  EXPECT_EQ(f.server->count("Other"), 0U);
}

}  // namespace
}  // namespace millrace::s3
