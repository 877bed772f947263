// SPDX-License-Identifier: Apache-2.0
#include "store/s3/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "millrace/base/printable.h"
#include "store/s3/http_date.h"
#include "store/s3/xml_answer.h"

namespace millrace::s3 {

namespace {

struct Meaning {
  ErrorClass cls;
  ErrorCode code;
  std::string_view advice;  ///< what a person can do; may be empty
};

struct CodeRow {
  std::string_view s3_code;
  Meaning meaning;
};

constexpr auto kFatal = ErrorClass::fatal;
constexpr auto kRetry = ErrorClass::retryable;

constexpr std::string_view kMakeRoom = "the store is full: make room, the run goes on by itself";

constexpr CodeRow kCodes[] = {
    {"NoSuchKey", {kFatal, ErrorCode::not_found, ""}},
    {"NoSuchUpload",
     {kFatal, ErrorCode::not_found,
      "the upload was completed or aborted, perhaps by a lifecycle rule of the bucket: look for the object, else "
      "upload it again"}},
    {"InvalidPart", {kFatal, ErrorCode::invalid_request, "a part is missing or is another now: upload it all again"}},
    {"InvalidPartOrder", {kFatal, ErrorCode::invalid_request, ""}},
    {"EntityTooSmall", {kFatal, ErrorCode::invalid_request, "every part but the last needs at least 5 MiB"}},
    {"NoSuchBucket", {kFatal, ErrorCode::invalid_request, "check the bucket's name, the region and the endpoint"}},
    {"InvalidBucketName", {kFatal, ErrorCode::invalid_request, "check the bucket's name"}},
    {"PreconditionFailed", {kFatal, ErrorCode::precondition_failed, ""}},
    {"ConditionalRequestConflict", {kRetry, ErrorCode::unavailable, ""}},
    {"OperationAborted", {kRetry, ErrorCode::unavailable, ""}},
    {"InvalidRange", {kFatal, ErrorCode::drift, "the object is shorter than it was when it was listed"}},
    {"InvalidObjectState", {kFatal, ErrorCode::not_supported, "the object is archived: restore it first"}},
    {"KeyTooLongError", {kFatal, ErrorCode::limit, "keys are limited to 1024 bytes of UTF-8"}},
    {"EntityTooLarge", {kFatal, ErrorCode::too_large, ""}},
    // Somebody makes room, as on a disk.
    {"QuotaExceeded", {kRetry, ErrorCode::out_of_space, kMakeRoom}},
    {"XMinioAdminBucketQuotaExceeded", {kRetry, ErrorCode::out_of_space, kMakeRoom}},
    {"XMinioStorageFull", {kRetry, ErrorCode::out_of_space, kMakeRoom}},
    {"NotImplemented", {kFatal, ErrorCode::not_supported, "this store lacks what was asked for"}},
    {"MethodNotAllowed", {kFatal, ErrorCode::not_supported, ""}},
    // credentials
    {"AccessDenied", {kFatal, ErrorCode::permission_denied, "the policy must allow this action on this key"}},
    {"AllAccessDisabled", {kFatal, ErrorCode::permission_denied, ""}},
    {"AccountProblem", {kFatal, ErrorCode::permission_denied, ""}},
    {"InvalidPayer", {kFatal, ErrorCode::permission_denied, ""}},
    {"SignatureDoesNotMatch", {kFatal, ErrorCode::credentials, "check the secret key, and that the region is right"}},
    {"InvalidAccessKeyId", {kFatal, ErrorCode::credentials, "check the access key"}},
    {"ExpiredToken", {kFatal, ErrorCode::credentials, "get new credentials"}},
    {"ExpiredTokenException", {kFatal, ErrorCode::credentials, "get new credentials"}},
    {"TokenRefreshRequired", {kFatal, ErrorCode::credentials, "get new credentials"}},
    {"InvalidToken", {kFatal, ErrorCode::credentials, "check the session token"}},
    {"RequestTimeTooSkewed", {kFatal, ErrorCode::credentials, "compare this machine's clock with the server's"}},
    {"RequestExpired", {kFatal, ErrorCode::credentials, "compare this machine's clock with the server's"}},
    {"AuthorizationHeaderMalformed", {kFatal, ErrorCode::credentials, "set store.region"}},
    {"PermanentRedirect", {kFatal, ErrorCode::credentials, "check store.endpoint, and store.region"}},
    {"TemporaryRedirect", {kRetry, ErrorCode::unavailable, ""}},
    // to be tried again
    {"SlowDown", {kRetry, ErrorCode::throttled, ""}},
    {"Throttling", {kRetry, ErrorCode::throttled, ""}},
    {"ThrottlingException", {kRetry, ErrorCode::throttled, ""}},
    {"RequestLimitExceeded", {kRetry, ErrorCode::throttled, ""}},
    {"RequestThrottled", {kRetry, ErrorCode::throttled, ""}},
    {"BandwidthLimitExceeded", {kRetry, ErrorCode::throttled, ""}},
    {"TooManyRequests", {kRetry, ErrorCode::throttled, ""}},
    {"InternalError", {kRetry, ErrorCode::unavailable, ""}},
    {"ServiceUnavailable", {kRetry, ErrorCode::unavailable, ""}},
    {"ServerBusy", {kRetry, ErrorCode::throttled, ""}},
    {"RequestTimeout", {kRetry, ErrorCode::timeout, ""}},
    {"BadDigest", {kRetry, ErrorCode::interrupted_transfer, "the body arrived changed"}},
    {"XAmzContentSHA256Mismatch", {kRetry, ErrorCode::interrupted_transfer, "the body arrived changed"}},
    {"IncompleteBody", {kRetry, ErrorCode::interrupted_transfer, ""}},
};

Meaning by_status(int status) {
  switch (status) {
    case 401:
      return {kFatal, ErrorCode::credentials, "check the credentials"};
    case 403:
      return {kFatal, ErrorCode::permission_denied, "check the credentials and the policy"};
    case 404:
      return {kFatal, ErrorCode::not_found, ""};
    case 407:
      return {kFatal, ErrorCode::credentials, "the proxy wants a user and a password; check store.proxy_url"};
    case 408:
      return {kRetry, ErrorCode::timeout, ""};
    case 409:
      return {kRetry, ErrorCode::unavailable, ""};
    case 411:
      return {kFatal, ErrorCode::not_supported, ""};
    case 412:
      return {kFatal, ErrorCode::precondition_failed, ""};
    case 413:
      return {kFatal, ErrorCode::too_large, ""};
    case 416:
      return {kFatal, ErrorCode::drift, "the object is shorter than it was when it was listed"};
    case 429:
      return {kRetry, ErrorCode::throttled, ""};
    case 501:
      return {kFatal, ErrorCode::not_supported, "this store lacks what was asked for"};
    case 507:
      return {kRetry, ErrorCode::out_of_space, kMakeRoom};
    default:
      break;
  }
  if (status >= 500) return {kRetry, ErrorCode::unavailable, ""};
  if (status >= 400) return {kFatal, ErrorCode::invalid_request, ""};
  if (status >= 300)
    return {kFatal, ErrorCode::bad_response, "the server redirects; set store.endpoint and store.region"};
  return {kRetry, ErrorCode::bad_response, ""};
}

Meaning meaning_of(const S3Failure& failure) {
  const auto row = std::ranges::find(kCodes, failure.code, &CodeRow::s3_code);
  if (!failure.code.empty() && row != std::end(kCodes)) return row->meaning;
  return by_status(failure.status);
}

bool names_region(const S3Failure& failure) {
  return !failure.region.empty() &&
         (failure.status == 301 || failure.status == 307 || failure.status == 400 || failure.status == 403);
}

Meaning meaning_of(TransportFailure failure) {
  switch (failure) {
    case TransportFailure::resolve:
      return {kRetry, ErrorCode::unreachable, "check store.endpoint and the name server"};
    case TransportFailure::connect:
      return {kRetry, ErrorCode::unreachable, "check store.endpoint and that it is up"};
    case TransportFailure::proxy:
      return {kRetry, ErrorCode::unreachable, "check store.proxy_url and that the proxy is up"};
    case TransportFailure::handshake:
      return {kRetry, ErrorCode::unreachable, ""};
    case TransportFailure::certificate:
      return {kFatal, ErrorCode::unreachable,
              "the server's certificate is not trusted: name its authority with store.ca_bundle"};
    case TransportFailure::ca_bundle:
      return {kFatal, ErrorCode::config,
              "no server was asked: the file of store.ca_bundle (else AWS_CA_BUNDLE) cannot be used"};
    case TransportFailure::connect_timeout:
      return {kRetry, ErrorCode::unreachable, ""};
    case TransportFailure::request_timeout:
      return {kRetry, ErrorCode::timeout, ""};
    case TransportFailure::no_progress:
      return {kRetry, ErrorCode::timeout, ""};
    case TransportFailure::broken:
      return {kRetry, ErrorCode::interrupted_transfer, ""};
    case TransportFailure::not_http:
      return {kRetry, ErrorCode::bad_response, "is store.endpoint an S3 server?"};
    case TransportFailure::cancelled:
      return {kFatal, ErrorCode::cancelled, ""};
    case TransportFailure::none:
    case TransportFailure::stopped_by_sink:
    case TransportFailure::other:
      break;
  }
  return {kRetry, ErrorCode::io, ""};
}

std::string with_advice(std::string text, std::string_view advice) {
  if (!advice.empty()) text.append("; ").append(advice);
  return text;
}

}  // namespace

S3Failure read_failure(const HttpHead& head, std::string_view body, UnixMicros now) {
  S3Failure failure;
  failure.status = head.status;
  failure.content_type = head.header("content-type");
  failure.request_id = head.header("x-amz-request-id");
  failure.region = head.header("x-amz-bucket-region");
  failure.date = parse_http_date(head.header("date"));
  if (const auto asked = head.header("retry-after"); !asked.empty()) {
    failure.retry_after = parse_retry_after(asked, failure.date.value_or(now));
  }
  if (auto error = parse_error_xml(body)) {
    failure.code = std::move(error->code);
    failure.message = std::move(error->message);
    if (failure.region.empty()) failure.region = std::move(error->region);
    if (failure.request_id.empty()) failure.request_id = std::move(error->request_id);
  }
  return failure;
}

Result<void> check_origin(const HttpHead& head, std::string_view doing) {
  if (!head.header("etag").empty() || !head.header("x-amz-request-id").empty()) return {};
  if (head.status == 204) return {};
  return fail(Error::retryable(ErrorCode::bad_response,
                               fmt::format("{}: the answer ({}) has neither an ETag nor a request id: it is not S3's",
                                           doing, printable(head.header("content-type"), 80))));
}

Remedy remedy_for(const S3Failure& failure, HttpMethod method) {
  const std::string_view code = failure.code;
  if (code == "RequestTimeTooSkewed" || code == "RequestExpired") return Remedy::clock_offset;
  if (code == "ExpiredToken" || code == "ExpiredTokenException" || code == "TokenRefreshRequired" ||
      code == "InvalidToken" || code == "InvalidAccessKeyId") {
    return Remedy::other_credentials;
  }
  if (code == "RequestTimeout") return Remedy::fresh_connection;
  if (names_region(failure) && code != "AccessDenied") return Remedy::other_region;
  // A HEAD has no body, so an expired token shows as a bare 400.
  if (method == HttpMethod::head && failure.status == 400) return Remedy::other_credentials;
  return Remedy::none;
}

Error error_of(const S3Failure& failure, std::string_view doing) {
  const Meaning meaning = meaning_of(failure);
  std::string said;
  if (!failure.code.empty()) {
    said = fmt::format("{} {}", failure.status, printable(failure.code, 80));
    if (!failure.message.empty()) said += fmt::format(" ({})", printable(failure.message, 300));
  } else if (failure.content_type.starts_with("text/html")) {
    said = fmt::format("{} with a page of HTML, which is not S3's", failure.status);
  } else {
    said = fmt::format("{}", failure.status);
  }
  Error error(meaning.cls, meaning.code,
              with_advice(fmt::format("{}: the server answered {}", doing, said), meaning.advice));
  error.with("status", fmt::format("{}", failure.status));
  if (!failure.code.empty()) error.with("s3_code", printable(failure.code, 80));
  if (!failure.request_id.empty()) error.with("request_id", printable(failure.request_id, 80));
  if (failure.retry_after) return std::move(error).with_retry_after(*failure.retry_after);
  return error;
}

Error error_of(const HttpOutcome& outcome, std::string_view doing, std::string_view endpoint) {
  const Meaning meaning = meaning_of(outcome.failure);
  if (outcome.failure == TransportFailure::cancelled)
    return {meaning.cls, meaning.code, fmt::format("{}: cancelled", doing)};
  Error error(meaning.cls, meaning.code,
              with_advice(fmt::format("{}: {}", doing, printable(outcome.detail, 300)), meaning.advice));
  error.with("endpoint", std::string(endpoint));
  return error;
}

}  // namespace millrace::s3
