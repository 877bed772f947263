// SPDX-License-Identifier: Apache-2.0
// Goal: each answer gets the class that the engine needs. The expected classes are those of the requirements: transient
// ones are tried again, what will not change is fatal, S3's code goes before the status.
#include "store/s3/failure.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace millrace::s3 {
namespace {

S3Failure answer(int status, std::string_view code, HeaderList headers = {}) {
  HttpHead head;
  head.status = status;
  head.headers = std::move(headers);
  const std::string body =
      code.empty() ? "" : fmt::format("<Error><Code>{}</Code><Message>told why</Message></Error>", code);
  return read_failure(head, body, 0);
}

struct Expected {
  int status;
  std::string_view code;
  ErrorClass cls;
  ErrorCode error;
};

TEST(Failure, CodesGoBeforeTheStatus) {
  constexpr auto kFatal = ErrorClass::fatal;
  constexpr auto kRetry = ErrorClass::retryable;
  for (const Expected& row : std::initializer_list<Expected>{
           {404, "NoSuchKey", kFatal, ErrorCode::not_found},
           {404, "NoSuchBucket", kFatal, ErrorCode::invalid_request},
           {404, "", kFatal, ErrorCode::not_found},
           {412, "PreconditionFailed", kFatal, ErrorCode::precondition_failed},
           {409, "ConditionalRequestConflict", kRetry, ErrorCode::unavailable},
           {403, "AccessDenied", kFatal, ErrorCode::permission_denied},
           {403, "SignatureDoesNotMatch", kFatal, ErrorCode::credentials},
           {403, "RequestTimeTooSkewed", kFatal, ErrorCode::credentials},
           {400, "ExpiredToken", kFatal, ErrorCode::credentials},
           {403, "InvalidObjectState", kFatal, ErrorCode::not_supported},
           {416, "InvalidRange", kFatal, ErrorCode::drift},
           {503, "SlowDown", kRetry, ErrorCode::throttled},
           {400, "RequestTimeout", kRetry, ErrorCode::timeout},
           {400, "BadDigest", kRetry, ErrorCode::interrupted_transfer},
           {200, "InternalError", kRetry, ErrorCode::unavailable},
           {400, "KeyTooLongError", kFatal, ErrorCode::limit},
           {501, "NotImplemented", kFatal, ErrorCode::not_supported},
           {400, "SomethingNew", kFatal, ErrorCode::invalid_request},
           {408, "", kRetry, ErrorCode::timeout},
           {429, "", kRetry, ErrorCode::throttled},
           {500, "", kRetry, ErrorCode::unavailable},
           {503, "", kRetry, ErrorCode::unavailable},
           // Room is made while a run waits, as on a disk.
           {507, "", kRetry, ErrorCode::out_of_space},
           {507, "XMinioStorageFull", kRetry, ErrorCode::out_of_space},
           {400, "XMinioAdminBucketQuotaExceeded", kRetry, ErrorCode::out_of_space},
           {403, "QuotaExceeded", kRetry, ErrorCode::out_of_space},
           {401, "", kFatal, ErrorCode::credentials},
           {302, "", kFatal, ErrorCode::bad_response},
       }) {
    const Error error = error_of(answer(row.status, row.code), "doing");
    EXPECT_EQ(error.error_class(), row.cls) << row.status << " " << row.code;
    EXPECT_EQ(error.code(), row.error) << row.status << " " << row.code;
    EXPECT_TRUE(error.message().starts_with("doing: the server answered " + std::to_string(row.status)));
  }
}

TEST(Failure, H01_RetryAfterIsCarried) {
  const Error error = error_of(answer(503, "SlowDown", {{"retry-after", "2"}}), "doing");
  EXPECT_EQ(error.retry_after(), std::chrono::seconds(2));
  // A date is counted from the server's clock, not from ours.
  const Error dated = error_of(
      answer(503, "", {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"retry-after", "Fri, 24 May 2013 00:00:07 GMT"}}),
      "doing");
  EXPECT_EQ(dated.retry_after(), std::chrono::seconds(7));
}

TEST(Failure, G10_AnHtmlPageIsNamedAsOne) {
  const Error error = error_of(answer(503, "", {{"content-type", "text/html; charset=utf-8"}}), "doing");
  EXPECT_TRUE(error.is_retryable());
  EXPECT_NE(error.message().find("HTML"), std::string::npos);
}

TEST(Failure, DetailsRideAlong) {
  const Error error = error_of(answer(403, "AccessDenied", {{"x-amz-request-id", "R1"}}), "doing");
  EXPECT_NE(error.describe().find("s3_code=AccessDenied"), std::string::npos);
  EXPECT_NE(error.describe().find("request_id=R1"), std::string::npos);
  EXPECT_NE(error.message().find("told why"), std::string::npos);
}

TEST(Failure, B03_RegionsAreFoundInHeaderAndBody) {
  EXPECT_EQ(answer(301, "PermanentRedirect", {{"x-amz-bucket-region", "eu-west-1"}}).region, "eu-west-1");
  HttpHead head;
  head.status = 400;
  const auto malformed =
      read_failure(head, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>", 0);
  EXPECT_EQ(malformed.region, "eu-west-1");
  EXPECT_EQ(remedy_for(malformed, HttpMethod::get), Remedy::other_region);
}

TEST(Failure, RemediesAreFewAndFitting) {
  EXPECT_EQ(remedy_for(answer(403, "RequestTimeTooSkewed"), HttpMethod::get), Remedy::clock_offset);
  EXPECT_EQ(remedy_for(answer(400, "ExpiredToken"), HttpMethod::get), Remedy::other_credentials);
  EXPECT_EQ(remedy_for(answer(403, "InvalidAccessKeyId"), HttpMethod::put), Remedy::other_credentials);
  EXPECT_EQ(remedy_for(answer(400, ""), HttpMethod::head), Remedy::other_credentials);
  EXPECT_EQ(remedy_for(answer(400, "RequestTimeout"), HttpMethod::put), Remedy::fresh_connection);
  EXPECT_EQ(remedy_for(answer(403, "AccessDenied", {{"x-amz-bucket-region", "eu-west-1"}}), HttpMethod::get),
            Remedy::none);
  EXPECT_EQ(remedy_for(answer(403, "SignatureDoesNotMatch"), HttpMethod::get), Remedy::none);
  EXPECT_EQ(remedy_for(answer(503, "SlowDown"), HttpMethod::get), Remedy::none);
}

TEST(Failure, TransportFailures) {
  const auto error_for = [](TransportFailure failure) {
    HttpOutcome outcome;
    outcome.failure = failure;
    outcome.detail = "the words of the transport";
    return error_of(outcome, "doing", "http://h");
  };
  EXPECT_EQ(error_for(TransportFailure::connect).code(), ErrorCode::unreachable);
  EXPECT_TRUE(error_for(TransportFailure::connect).is_retryable());
  EXPECT_TRUE(error_for(TransportFailure::resolve).is_retryable());
  EXPECT_TRUE(error_for(TransportFailure::certificate).is_fatal());
  EXPECT_TRUE(error_for(TransportFailure::ca_bundle).is_fatal());
  EXPECT_EQ(error_for(TransportFailure::ca_bundle).code(), ErrorCode::config);
  EXPECT_EQ(error_for(TransportFailure::no_progress).code(), ErrorCode::timeout);
  EXPECT_EQ(error_for(TransportFailure::broken).code(), ErrorCode::interrupted_transfer);
  EXPECT_EQ(error_for(TransportFailure::cancelled).code(), ErrorCode::cancelled);
  EXPECT_TRUE(error_for(TransportFailure::cancelled).is_fatal());
  EXPECT_NE(error_for(TransportFailure::connect).describe().find("endpoint=http://h"), std::string::npos);
}

}  // namespace
}  // namespace millrace::s3
