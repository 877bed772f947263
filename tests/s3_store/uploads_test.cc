// SPDX-License-Identifier: Apache-2.0
// Goal: objects in parts as S3 takes them, and rows J of the faults as far as the store can show them. Method: the
// fault server, which checks signature, checksum and S3's rules of each request, and plays the rows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "millrace/store/part_plan.h"
#include "tests/s3_store/fixture.h"

namespace millrace::s3 {
namespace {

using testing::Fixture;
using testing::patterned;

std::vector<std::string> operations(const Fixture& f) {
  std::vector<std::string> all;
  for (const auto& request : f.server->requests()) all.push_back(request.operation);
  return all;
}

/// Puts every part of a plan and completes it.
Result<PutResult> upload(Fixture& f, const std::string& key, std::string_view bytes, const PartPlan& plan,
                         ChecksumKind checksum = ChecksumKind::none) {
  MILLRACE_ASSIGN(const UploadId id, f.store->begin_upload({.key = key, .checksum = checksum}));
  std::vector<PartResult> parts;
  for (int number = 1; number <= plan.parts(); ++number) {
    const auto part = plan.part(number);
    MILLRACE_ASSIGN(PartResult put, f.store->put_part(id, number, bytes.substr(part.offset, part.size)));
    parts.push_back(std::move(put));
  }
  return f.store->complete_upload(id, parts);
}

TEST(S3StoreUploads, EveryRequestByShape) {
  Fixture f;
  ObjectSettings settings;
  settings.storage_class = "STANDARD_IA";
  settings.acl = "private";
  const auto id = f.store->begin_upload({.key = "in/a b",
                                         .content_type = "application/x-ndjson",
                                         .metadata = {{"sha", "1"}},
                                         .settings = settings,
                                         .checksum = ChecksumKind::crc32c});
  ASSERT_TRUE(id) << id.error().describe();
  const auto part = f.store->put_part(*id, 1, "123456789");
  ASSERT_TRUE(part) << part.error().describe();
  EXPECT_EQ(part->etag.value, "\"25f9e794323b453885f5181f1b624d0b\"");  // md5sum
  EXPECT_EQ(part->checksum, "4waSgw==");
  const PartResult parts[] = {*part};
  const auto done = f.store->complete_upload(*id, parts, PutCondition::if_absent);
  ASSERT_TRUE(done) << done.error().describe();
  EXPECT_TRUE(done->etag.value.ends_with("-1\"")) << done->etag.value;
  EXPECT_TRUE(done->checksum.ends_with("-1")) << done->checksum;
  const auto log = f.server->requests();
  ASSERT_EQ(operations(f),
            (std::vector<std::string>{"CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload"}));
  EXPECT_EQ(log[0].http.header("content-type"), "application/x-ndjson");
  EXPECT_EQ(log[0].http.header("x-amz-checksum-algorithm"), "CRC32C");
  EXPECT_EQ(log[0].http.header("x-amz-acl"), "private");
  EXPECT_EQ(log[0].http.body, "");
  EXPECT_EQ(log[1].http.header("x-amz-checksum-crc32c"), "4waSgw==");
  EXPECT_EQ(log[1].query_value("partNumber"), "1");
  EXPECT_EQ(log[1].query_value("uploadId"), id->id);
  EXPECT_EQ(log[2].http.header("if-none-match"), "*");
  EXPECT_EQ(log[2].http.body,
            "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Part>"
            "<ETag>&quot;25f9e794323b453885f5181f1b624d0b&quot;</ETag><ChecksumCRC32C>4waSgw==</ChecksumCRC32C>"
            "<PartNumber>1</PartNumber></Part></CompleteMultipartUpload>");
  const auto head = f.store->head("in/a b");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->info.storage_class, "STANDARD_IA");
  EXPECT_EQ(head->content_type, "application/x-ndjson");
  EXPECT_EQ(head->metadata, (std::vector<std::pair<std::string, std::string>>{{"sha", "1"}}));
}

TEST(S3StoreUploads, AnObjectWithoutATypeIsNoForm) {
  Fixture f;
  ASSERT_TRUE(f.store->begin_upload({.key = "k"}));
  EXPECT_FALSE(f.server->requests()[0].http.has_header("content-type"));
}

TEST(S3StoreUploads, UnsignedPayloadsStayUnsigned) {
  Fixture f;
  auto options = testing::options_for(*f.server);
  options.unsigned_payload = true;
  f.open(options);
  ASSERT_TRUE(upload(f, "k", "123456789", PartPlan::make(9, 4, {.least_part_bytes = 1}).value()));
  for (const auto& request : f.server->requests()) {
    EXPECT_EQ(request.http.header("x-amz-content-sha256"), "UNSIGNED-PAYLOAD");
  }
}

TEST(S3StoreUploads, ChecksumsOfPartsAndOfTheWholeAreCompared) {
  for (const auto kind : {ChecksumKind::crc32, ChecksumKind::crc32c, ChecksumKind::crc64nvme, ChecksumKind::sha256}) {
    Fixture f;
    const std::string bytes = patterned(100'000);
    const auto plan = PartPlan::make(bytes.size(), 30'000, {.least_part_bytes = 1}).value();
    const auto done = upload(f, "k", bytes, plan, kind);
    ASSERT_TRUE(done) << to_string(kind) << ": " << done.error().describe();
    f.server->add_fault(
        fmt::format("op=CompleteMultipartUpload body='<CompleteMultipartUploadResult><ETag>x</ETag><Checksum{0}>AAAA-4"
                    "</Checksum{0}></CompleteMultipartUploadResult>'",
                    kind == ChecksumKind::crc32       ? "CRC32"
                    : kind == ChecksumKind::crc32c    ? "CRC32C"
                    : kind == ChecksumKind::crc64nvme ? "CRC64NVME"
                                                      : "SHA256"));
    EXPECT_EQ(upload(f, "k", bytes, plan, kind).error().code(), ErrorCode::bad_response) << to_string(kind);
    f.server->add_fault(fmt::format("op=UploadPart header='x-amz-checksum-{}: AAAA'", to_string(kind)));
    EXPECT_EQ(upload(f, "k", bytes, plan, kind).error().code(), ErrorCode::bad_response) << to_string(kind);
  }
}

TEST(S3StoreUploads, ACompletionThatSaysOkAndMeansAnError) {
  Fixture f;
  const struct {
    const char* fault;
    ErrorCode code;
    bool retryable;
  } cases[] = {
      {"body='<?xml version=\"1.0\"?>\\n<Error><Code>InternalError</Code></Error>'", ErrorCode::unavailable, true},
      {"body='   \\n<Error><Code>SlowDown</Code></Error>' framing=chunked", ErrorCode::throttled, true},
      {"body='<Error><Code>NoSuchUpload</Code></Error>'", ErrorCode::not_found, false},
      {"body='<Error><Code>AccessDenied</Code></Error>'", ErrorCode::permission_denied, false},
      {"body=''", ErrorCode::bad_response, true},
      {"body='<html>sign in</html>'", ErrorCode::bad_response, true},
      {"no_etag", ErrorCode::bad_response, true},
      {"status=409 code=ConditionalRequestConflict", ErrorCode::unavailable, true},
      {"status=501 code=NotImplemented", ErrorCode::not_supported, false},
  };
  for (const auto& c : cases) {
    f.server->add_fault(std::string("op=CompleteMultipartUpload ") + c.fault);
    const auto done = upload(f, "k", "x", PartPlan::make(1, 1).value());
    ASSERT_FALSE(done) << c.fault;
    EXPECT_EQ(done.error().code(), c.code) << done.error().describe();
    EXPECT_EQ(done.error().is_retryable(), c.retryable) << done.error().describe();
    EXPECT_NE(done.error().message().find("completing s3://bucket/k"), std::string::npos) << done.error().message();
  }
}

TEST(S3StoreUploads, BeginningNeedsAnId) {
  Fixture f;
  f.server->add_fault("op=CreateMultipartUpload body='<InitiateMultipartUploadResult/>'");
  EXPECT_EQ(f.store->begin_upload({.key = "k"}).error().code(), ErrorCode::bad_response);
  f.server->add_fault("op=CreateMultipartUpload status=501 code=NotImplemented");
  EXPECT_EQ(f.store->begin_upload({.key = "k"}).error().code(), ErrorCode::not_supported);
  ObjectSettings settings;
  settings.storage_class = "COLD";
  f.server->add_fault("op=CreateMultipartUpload status=400 code=InvalidStorageClass");
  const auto refused = f.store->begin_upload({.key = "k", .settings = settings});
  EXPECT_NE(refused.error().message().find("asked for storage_class"), std::string::npos) << refused.error().message();
}

TEST(S3StoreUploads, RefusesWhatCannotBeAsked) {
  Fixture f;
  const PartResult parts[] = {{1, 1, ETag{"\"x\""}}};
  EXPECT_EQ(f.store->begin_upload({.key = ""}).error().code(), ErrorCode::invalid_request);
  EXPECT_EQ(f.store->begin_upload({.key = "k", .content_type = "a\nb"}).error().code(), ErrorCode::invalid_request);
  EXPECT_EQ(f.store->begin_upload({.key = std::string(1025, 'k')}).error().code(), ErrorCode::limit);
  EXPECT_EQ(f.store->put_part({"k", ""}, 1, "x").error().code(), ErrorCode::invalid_request);
  EXPECT_EQ(f.store->complete_upload({"k", "id"}, {}).error().code(), ErrorCode::invalid_request);
  EXPECT_EQ(f.store->complete_upload({"k", "id"}, parts, PutCondition::if_match).error().code(),
            ErrorCode::invalid_request);
  EXPECT_EQ(f.store->abort_upload({"", "id"}).error().code(), ErrorCode::invalid_request);
  EXPECT_EQ(f.store->list_uploads({.continuation = "x"}).error().code(), ErrorCode::invalid_request);
  EXPECT_TRUE(f.server->requests().empty());
}

TEST(S3StoreUploads, LeftoversAreListedPageByPage) {
  Fixture f({.page_size = 2});
  std::set<std::string> begun;
  for (const char* key : {"in/a b", "in/a b", "in/a b", "in/c", "out"}) {
    begun.insert(f.store->begin_upload({.key = key}).value().id);
  }
  std::set<std::string> listed;
  ListUploadsRequest request{.prefix = "in/"};
  std::size_t pages = 0;
  do {
    const auto page = f.store->list_uploads(request);
    ASSERT_TRUE(page) << page.error().describe();
    for (const auto& info : page->uploads) {
      EXPECT_TRUE(listed.insert(info.upload.id).second);
      EXPECT_EQ(info.initiated, 1'767'323'045'000'000);  // date -u -d 2026-01-02T03:04:05Z +%s
      EXPECT_TRUE(f.store->abort_upload(info.upload));
    }
    request.continuation = page->continuation;
    ++pages;
  } while (!request.continuation.empty());
  EXPECT_EQ(pages, 2U);
  EXPECT_EQ(listed.size(), 4U);
  EXPECT_EQ(f.server->uploads("bucket").size(), 1U);
  f.server->add_fault("op=ListMultipartUploads body='<html/>'");
  EXPECT_EQ(f.store->list_uploads({}).error().code(), ErrorCode::bad_response);
}

TEST(S3StoreUploads, CancelEndsAPartAtOnce) {
  Fixture f;
  const auto id = f.store->begin_upload({.key = "k"});
  ASSERT_TRUE(id);
  f.server->add_fault("op=UploadPart times=every delay_ms=3600000");
  std::optional<Result<PartResult>> put;
  Thread waiting("part", [&] { put = f.store->put_part(*id, 1, "x"); });
  ASSERT_TRUE(f.server->wait_for("UploadPart", 1));
  f.store->cancel_all();
  waiting.join();
  ASSERT_TRUE(put);
  EXPECT_EQ(put->error().code(), ErrorCode::cancelled);
}

TEST(S3StoreUploads, APartHasItsOwnTimeout) {
  Fixture f;
  const auto id = f.store->begin_upload({.key = "k"});
  ASSERT_TRUE(id);
  f.server->add_fault("op=UploadPart delay_ms=3600000");
  const auto put = f.store->put_part(*id, 1, "x", std::chrono::milliseconds(50));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code(), ErrorCode::timeout) << put.error().describe();
  EXPECT_TRUE(put.error().is_retryable());
  EXPECT_TRUE(f.store->put_part(*id, 1, "x")) << "the next try may do";
}

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
