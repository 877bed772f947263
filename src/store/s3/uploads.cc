// SPDX-License-Identifier: Apache-2.0
#include "store/s3/uploads.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "millrace/base/printable.h"
#include "store/checksum/checksum.h"
#include "store/s3/failure.h"
#include "store/s3/request_check.h"
#include "store/s3/upload_xml.h"
#include "store/s3/uri_encoding.h"
#include "store/s3/write_headers.h"
#include "store/upload_rules.h"

namespace millrace::s3 {

namespace {

constexpr std::size_t kLongestAnswer = 64U << 10U;
constexpr std::size_t kLongestPage = 16U << 20U;  // 1000 keys of at most 1 KiB, encoded, with their ids

Result<void> check_id(const UploadId& upload, std::string_view doing) {
  if (upload.key.empty()) return refused(doing, "an empty key is refused");
  if (upload.id.empty()) return refused(doing, "an upload without an id is refused");
  return {};
}

/// What the store says of the whole must be what follows from the parts.
Result<void> check_whole(PutResult& done, ChecksumKind kind, std::span<const PartResult> parts,
                         std::string_view doing) {
  auto ours = checksum_of_parts(kind, parts);
  if (!ours) return {};  // none was asked for: check_completion() lets no part without one pass
  // A store may tell the checksum of all bytes where S3 tells that of the parts' checksums: another thing.
  const bool of_parts = done.checksum.find('-') != std::string::npos;
  const bool comparable = !done.checksum.empty() && (of_parts || kind == ChecksumKind::crc64nvme);
  if (comparable && done.checksum != *ours) {
    // The object is there and its upload is gone: nothing that is tried again could mend it.
    return fail(Error::fatal(ErrorCode::corrupt,
                             fmt::format("{}: the store has an object whose {} is {}, and its parts make {}; remove it",
                                         doing, to_string(kind), printable(done.checksum, 80), *ours)));
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
    call.headers.emplace_back("x-amz-checksum-algorithm", checksum_name(asked.checksum));
  }
  MILLRACE_TRY(check_write(asked.key, call.headers, doing));
  auto xml = session.run_for_xml(std::move(call), kLongestAnswer);
  if (!xml) return fail(with_asked(std::move(xml).error(), asked.settings, asked.checksum));
  MILLRACE_ASSIGN(std::string id, prefixed(parse_begun(*xml), doing));
  return UploadId{asked.key, std::move(id), asked.checksum};
}

Result<PartResult> put_part(S3Session& session, const UploadId& upload, int number, std::string_view body,
                            std::optional<Duration> timeout) {
  S3Request call = session.request(HttpMethod::put, upload.key, fmt::format("writing part {} of", number));
  const std::string doing = call.doing;
  MILLRACE_TRY(check_id(upload, doing));
  MILLRACE_TRY(prefixed(check_part_number(number), doing));
  if (timeout) call.timeout = timeout;
  call.query = encode_query({{"partNumber", fmt::format("{}", number)}, {"uploadId", upload.id}});
  std::string checksum = checksum_of(upload.checksum, body);
  if (!checksum.empty()) call.headers.emplace_back(checksum_header(upload.checksum), checksum);
  session.give_body(call, body);
  MILLRACE_ASSIGN(const HttpHead head, session.run_for_head(std::move(call)));
  MILLRACE_ASSIGN(ETag etag, prefixed(stored_tag(head.header("etag"), "part"), doing));
  MILLRACE_TRY(check_checksum(head, upload.checksum, checksum, doing));
  return PartResult{number, body.size(), std::move(etag), std::move(checksum)};
}

Result<PutResult> complete_upload(S3Session& session, const UploadId& upload, std::span<const PartResult> parts,
                                  PutCondition condition, std::optional<Duration> timeout) {
  S3Request call = session.request(HttpMethod::post, upload.key, "completing");
  const std::string doing = call.doing;
  MILLRACE_TRY(check_id(upload, doing));
  MILLRACE_TRY(prefixed(check_completion(upload.checksum, parts, condition), doing));
  if (timeout) call.timeout = timeout;
  call.query = encode_query({{"uploadId", upload.id}});
  call.headers.emplace_back("Content-Type", "application/xml");
  if (condition == PutCondition::if_absent) call.headers.emplace_back("If-None-Match", "*");
  const std::string body = complete_xml(upload.checksum, parts);
  session.give_body(call, body);
  MILLRACE_ASSIGN(const std::string xml, session.run_for_xml(std::move(call), kLongestAnswer));
  MILLRACE_ASSIGN(PutResult done, prefixed(parse_completed(xml, upload.checksum), doing));
  MILLRACE_TRY(check_whole(done, upload.checksum, parts, doing));
  return done;
}

Result<void> abort_upload(S3Session& session, const UploadId& upload) {
  S3Request call = session.request(HttpMethod::remove, upload.key, "aborting the upload of");
  const std::string doing = call.doing;
  MILLRACE_TRY(check_id(upload, doing));
  call.query = encode_query({{"uploadId", upload.id}});
  const auto head = session.run_for_head(std::move(call));
  if (head) return check_origin(*head, doing);
  if (head.error().code() == ErrorCode::not_found) return {};
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
  MILLRACE_ASSIGN(const std::string xml, session.run_for_xml(std::move(call), kLongestPage));
  MILLRACE_ASSIGN(UploadPage page, prefixed(parse_uploads(xml, asked.prefix), doing));
  if (!page.continuation.empty() && page.continuation == asked.continuation) {
    return fail(Error::retryable(ErrorCode::bad_response,
                                 doing + ": the server gave the same markers again, which would never end"));
  }
  return page;
}

}  // namespace millrace::s3
