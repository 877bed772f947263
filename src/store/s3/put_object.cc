// SPDX-License-Identifier: Apache-2.0
#include "store/s3/put_object.h"

#include <utility>

#include "store/checksum/checksum.h"
#include "store/s3/write_headers.h"
#include "store/s3/xml_answer.h"

namespace millrace::s3 {

namespace {

Result<void> add_condition(const PutRequest& asked, S3Request& call) {
  if (asked.condition == PutCondition::if_absent) call.headers.emplace_back("If-None-Match", "*");
  if (asked.condition != PutCondition::if_match) return {};
  if (asked.etag.empty()) return refused(call.doing, "to replace an exact version its ETag is needed");
  call.headers.emplace_back("If-Match", asked.etag.value);
  return {};
}

// To replace what is gone is a condition that does not hold.
Error as_condition(Error error, PutCondition condition) {
  if (condition != PutCondition::if_match || error.code() != ErrorCode::not_found) return error;
  Error gone = Error::fatal(ErrorCode::precondition_failed, error.message());
  for (const auto& [name, value] : error.context()) gone.with(name, value);
  return gone;
}

}  // namespace

Result<PutResult> put_object(S3Session& session, const PutRequest& asked) {
  S3Request call = session.request(HttpMethod::put, asked.key, "writing");
  const std::string doing = call.doing;
  if (asked.timeout) call.timeout = asked.timeout;
  call.headers = describing_headers({asked.content_type, asked.content_encoding, asked.metadata, asked.settings});
  MILLRACE_TRY(add_condition(asked, call));
  MILLRACE_TRY(check_write(asked.key, call.headers, doing));
  std::string checksum = checksum_of(asked.checksum, asked.body);
  if (!checksum.empty()) call.headers.emplace_back(checksum_header(asked.checksum), checksum);
  session.give_body(call, asked.body);
  ShortSink sink;
  auto head = session.run(std::move(call), sink);
  if (!head) {
    return fail(with_asked(as_condition(std::move(head).error(), asked.condition), asked.settings, asked.checksum));
  }
  if (parse_error_xml(sink.text())) return fail(session.refusal_in(*head, sink.text(), doing));
  if (head->header("etag").empty()) {
    return fail(Error::retryable(ErrorCode::bad_response,
                                 doing + ": the answer has no ETag, so nothing proves that the object is stored"));
  }
  MILLRACE_TRY(check_checksum(*head, asked.checksum, checksum, doing));
  return PutResult{ETag{std::string(head->header("etag"))}, std::move(checksum)};
}

}  // namespace millrace::s3
