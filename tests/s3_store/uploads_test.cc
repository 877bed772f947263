// SPDX-License-Identifier: Apache-2.0
// Goal: objects in parts as S3 takes them. Method: the fault server, which checks signature, checksum and S3's rules of
// each request.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/s3_store/upload_rig.h"

namespace millrace::s3 {
namespace {

using testing::Fixture;
using testing::operations;
using testing::patterned;
using testing::upload;

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
  EXPECT_EQ(done->checksum, "pzJFoA==-1");  // CRC-32C of the four bytes of the part's, written out in Python
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
    const auto other = upload(f, "k", bytes, plan, kind);
    ASSERT_FALSE(other) << to_string(kind);
    EXPECT_EQ(other.error().code(), ErrorCode::corrupt) << to_string(kind);
    EXPECT_TRUE(other.error().is_fatal()) << "the upload is gone, and the object is there";
    f.server->add_fault(fmt::format("op=UploadPart header='x-amz-checksum-{}: AAAA'", to_string(kind)));
    EXPECT_EQ(upload(f, "k", bytes, plan, kind).error().code(), ErrorCode::bad_response) << to_string(kind);
  }
}

// The values that checksum_test.cc has from Python, of "1234" and "56789"; told by the server or not.
TEST(S3StoreUploads, TheChecksumOfTheWholeIsThatOfItsParts) {
  const struct {
    ChecksumKind kind;
    const char* object;
  } cases[] = {{ChecksumKind::crc32, "rBMwBw==-2"},
               {ChecksumKind::crc32c, "wClZWQ==-2"},
               {ChecksumKind::sha256, "bnRBBTileCDVQlLT/6fZJGrqcf3O3X6G8kD8V7zZqxQ=-2"},
               {ChecksumKind::crc64nvme, "rosUhgp5mIg="},
               {ChecksumKind::none, ""}};
  for (const auto& c : cases) {
    Fixture f;
    for (const bool told : {true, false}) {
      const auto id = f.store->begin_upload({.key = "k", .checksum = c.kind});
      ASSERT_TRUE(id);
      const auto first = f.store->put_part(*id, 1, "1234");
      const auto second = f.store->put_part(*id, 2, "56789");
      ASSERT_TRUE(first && second);
      const PartResult parts[] = {*first, *second};
      if (!told) {
        f.server->add_fault(
            "op=CompleteMultipartUpload "
            "body='<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>'");
      }
      const auto done = f.store->complete_upload(*id, parts);
      ASSERT_TRUE(done) << done.error().describe();
      EXPECT_EQ(done->checksum, c.object) << to_string(c.kind) << told;
    }
  }
}

TEST(S3StoreUploads, APartWithoutTheChecksumOfItsUploadIsRefused) {
  Fixture f;
  const auto id = f.store->begin_upload({.key = "k", .checksum = ChecksumKind::crc32c});
  ASSERT_TRUE(id);
  const auto part = f.store->put_part(*id, 1, "123456789");
  ASSERT_TRUE(part);
  PartResult parts[] = {*part};
  for (const char* other : {"", "rosUhgp5mIg="}) {
    parts[0].checksum = other;
    const auto done = f.store->complete_upload(*id, parts);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), ErrorCode::invalid_request) << done.error().describe();
    EXPECT_NE(done.error().message().find("completing s3://bucket/k: part 1"), std::string::npos)
        << done.error().message();
  }
  EXPECT_EQ(f.server->count("CompleteMultipartUpload"), 0U);
}

// A 2xx of something in between would leave the parts lying, and paid for.
TEST(S3StoreUploads, AnAbortIsBelievedOnlyOfTheStore) {
  Fixture f;
  const auto id = f.store->begin_upload({.key = "k"});
  ASSERT_TRUE(id);
  const struct {
    const char* fault;
    ErrorCode code;
  } cases[] = {
      {"status=200 header='x-amz-request-id: ' body='<html>sign in</html>'", ErrorCode::bad_response},
      {"status=200 body='<Error><Code>SlowDown</Code></Error>'", ErrorCode::throttled},
      {"status=403 code=AccessDenied", ErrorCode::permission_denied},
  };
  for (const auto& c : cases) {
    f.server->add_fault(std::string("op=AbortMultipartUpload ") + c.fault);
    const auto aborted = f.store->abort_upload(*id);
    ASSERT_FALSE(aborted) << c.fault;
    EXPECT_EQ(aborted.error().code(), c.code) << aborted.error().describe();
  }
  EXPECT_TRUE(f.store->abort_upload(*id));
  EXPECT_TRUE(f.server->uploads("bucket").empty());
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
  f.server->add_fault("op=ListMultipartUploads status=501 code=NotImplemented");
  EXPECT_EQ(f.store->list_uploads({}).error().code(), ErrorCode::not_supported);
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

}  // namespace
}  // namespace millrace::s3
