// SPDX-License-Identifier: Apache-2.0
#include "store/s3/uploads.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "millrace/store/part_plan.h"
#include "store/checksum/checksum.h"
#include "store/s3/upload_xml.h"
#include "store/s3/uri_encoding.h"
#include "store/s3/write_headers.h"
#include "store/s3/xml_answer.h"

namespace millrace::s3 {

namespace {

constexpr std::size_t kLongestAnswer = 64U << 10U;
constexpr std::size_t kLongestPage = 16U << 20U;  // 1000 keys of at most 1 KiB, encoded, with their ids

/// Runs a call whose answer is XML. A document that is an error is one, whatever its status: S3 answers a completion
/// with 200 before it knows.
Result<std::string> run_for_xml(S3Session& session, S3Request call, std::size_t longest) {
  const std::string doing = call.doing;
  TextSink sink(longest);
  MILLRACE_ASSIGN(const HttpHead head, session.run(std::move(call), sink));
  if (parse_error_xml(sink.text())) return fail(session.refusal_in(head, sink.text(), doing));
  return std::move(sink.text());
}

template <class T>
Result<T> prefixed(Result<T> result, std::string_view doing) {
  if (result) return result;
  return fail(std::move(result).error().prefixed(fmt::format("{}: ", doing)));
}

Result<void> check_id(const UploadId& upload, std::string_view doing) {
  if (upload.key.empty()) return refused(doing, "an empty key is refused");
  if (upload.id.empty()) return refused(doing, "an upload without an id is refused");
  return {};
}

/// What the store says of the whole must be what follows from the parts.
Result<void> check_whole(PutResult& done, ChecksumKind kind, std::span<const PartResult> parts,
                         std::string_view doing) {
  auto ours = checksum_of_parts(kind, parts);
  if (!ours) return {};  // none was asked for, or parts came without one
  // A store may tell the checksum of all bytes where S3 tells that of the parts' checksums: another thing.
  const bool of_parts = done.checksum.find('-') != std::string::npos;
  const bool comparable = !done.checksum.empty() && (of_parts || kind == ChecksumKind::crc64nvme);
  if (comparable && done.checksum != *ours) {
    return fail(Error::retryable(ErrorCode::bad_response,
                                 fmt::format("{}: the store has an object whose {} is {}, and its parts make {}", doing,
                                             to_string(kind), done.checksum, *ours)));
  }
  done.checksum = *std::move(ours);
  return {};
}

}  // namespace

Result<UploadId> begin_upload(S3Session& session, const UploadRequest& asked) {
  S3Request call = session.request(HttpMethod::post, asked.key, "beginning to write");
  const std::string doing = call.doing;
  if (asked.timeout) call.timeout = asked.timeout;
  call.query = encode_query({{"uploads", ""}});
  call.headers = describing_headers({asked.content_type, asked.content_encoding, asked.metadata, asked.settings});
  if (asked.checksum != ChecksumKind::none) {
    std::string name(to_string(asked.checksum));
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    call.headers.emplace_back("x-amz-checksum-algorithm", std::move(name));
  }
  MILLRACE_TRY(check_write(asked.key, call.headers, doing));
  auto xml = run_for_xml(session, std::move(call), kLongestAnswer);
  if (!xml) return fail(with_asked(std::move(xml).error(), asked.settings, asked.checksum));
  MILLRACE_ASSIGN(std::string id, prefixed(parse_begun(*xml), doing));
  return UploadId{asked.key, std::move(id), asked.checksum};
}

Result<PartResult> put_part(S3Session& session, const UploadId& upload, int number, std::string_view body,
                            std::optional<Duration> timeout) {
  S3Request call = session.request(HttpMethod::put, upload.key, fmt::format("writing part {} of", number));
  const std::string doing = call.doing;
  MILLRACE_TRY(check_id(upload, doing));
  if (number < 1 || number > kMostParts) {
    return fail(Error::fatal(ErrorCode::limit, fmt::format("{}: parts are numbered 1 to {}", doing, kMostParts)));
  }
  if (timeout) call.timeout = timeout;
  call.query = encode_query({{"partNumber", fmt::format("{}", number)}, {"uploadId", upload.id}});
  std::string checksum = checksum_of(upload.checksum, body);
  if (!checksum.empty()) call.headers.emplace_back(checksum_header(upload.checksum), checksum);
  session.give_body(call, body);
  ShortSink sink;
  MILLRACE_ASSIGN(const HttpHead head, session.run(std::move(call), sink));
  if (parse_error_xml(sink.text())) return fail(session.refusal_in(head, sink.text(), doing));
  if (head.header("etag").empty()) {
    return fail(Error::retryable(ErrorCode::bad_response,
                                 doing + ": the answer has no ETag, so nothing proves that the part is stored"));
  }
  MILLRACE_TRY(check_checksum(head, upload.checksum, checksum, doing));
  return PartResult{number, body.size(), ETag{std::string(head.header("etag"))}, std::move(checksum)};
}

Result<PutResult> complete_upload(S3Session& session, const UploadId& upload, std::span<const PartResult> parts,
                                  PutCondition condition, std::optional<Duration> timeout) {
  S3Request call = session.request(HttpMethod::post, upload.key, "completing");
  const std::string doing = call.doing;
  MILLRACE_TRY(check_id(upload, doing));
  if (parts.empty()) return refused(doing, "an upload is completed with one part at least");
  if (condition == PutCondition::if_match) return refused(doing, "a completion replaces no exact version");
  if (timeout) call.timeout = timeout;
  call.query = encode_query({{"uploadId", upload.id}});
  call.headers.emplace_back("Content-Type", "application/xml");
  if (condition == PutCondition::if_absent) call.headers.emplace_back("If-None-Match", "*");
  const std::string body = complete_xml(upload.checksum, parts);
  session.give_body(call, body);
  MILLRACE_ASSIGN(const std::string xml, run_for_xml(session, std::move(call), kLongestAnswer));
  MILLRACE_ASSIGN(PutResult done, prefixed(parse_completed(xml, upload.checksum), doing));
  MILLRACE_TRY(check_whole(done, upload.checksum, parts, doing));
  return done;
}

Result<void> abort_upload(S3Session& session, const UploadId& upload) {
  S3Request call = session.request(HttpMethod::remove, upload.key, "aborting the upload of");
  MILLRACE_TRY(check_id(upload, call.doing));
  call.query = encode_query({{"uploadId", upload.id}});
  ShortSink sink;
  const auto head = session.run(std::move(call), sink);
  if (head || head.error().code() == ErrorCode::not_found) return {};
  return fail(head.error());
}

Result<UploadPage> list_uploads(S3Session& session, const ListUploadsRequest& asked) {
  S3Request call = session.request(HttpMethod::get, asked.prefix, "listing the uploads under");
  const std::string doing = call.doing;
  call.key.clear();
  QueryPairs query = {{"uploads", ""}, {"encoding-type", "url"}, {"max-uploads", fmt::format("{}", asked.max_uploads)}};
  if (!asked.prefix.empty()) query.emplace_back("prefix", asked.prefix);
  if (!asked.continuation.empty()) {
    auto markers = markers_of(asked.continuation);
    if (!markers) return refused(doing, "the continuation token is not one of ours");
    query.emplace_back("key-marker", std::move(markers->key));
    if (!markers->id.empty()) query.emplace_back("upload-id-marker", std::move(markers->id));
  }
  call.query = encode_query(std::move(query));
  MILLRACE_ASSIGN(const std::string xml, run_for_xml(session, std::move(call), kLongestPage));
  MILLRACE_ASSIGN(UploadPage page, prefixed(parse_uploads(xml, asked.prefix), doing));
  if (!page.continuation.empty() && page.continuation == asked.continuation) {
    return fail(Error::retryable(ErrorCode::bad_response,
                                 doing + ": the server gave the same markers again, which would never end"));
  }
  return page;
}

}  // namespace millrace::s3
