// SPDX-License-Identifier: Apache-2.0
#include "store/s3/put_object.h"

#include <utility>

#include "store/checksum/checksum.h"
#include "store/s3/request_check.h"
#include "store/s3/write_headers.h"

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
  return std::move(error).as(ErrorClass::fatal, ErrorCode::precondition_failed);
}

// A plain put writes over what is wrong. The condition of another is used up: the next try would find this object
// there, and its caller would take it for what he meant to write.
Error as_mismatch(Error error, PutCondition condition) {
  if (condition == PutCondition::none) return error;
  std::string told = error.message() + "; the object is there: remove it before the next run";
  return std::move(error).with_message(std::move(told)).as(ErrorClass::fatal, ErrorCode::corrupt);
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
  auto head = session.run_for_head(std::move(call));
  if (!head) {
    return fail(with_asked(as_condition(std::move(head).error(), asked.condition), asked.settings, asked.checksum));
  }
  if (auto same = check_checksum(*head, asked.checksum, checksum, doing); !same) {
    return fail(as_mismatch(std::move(same).error(), asked.condition));
  }
  MILLRACE_ASSIGN(ETag etag, prefixed(stored_tag(head->header("etag"), "object"), doing));
  return PutResult{std::move(etag), std::move(checksum)};
}

}  // namespace millrace::s3
