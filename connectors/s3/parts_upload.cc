// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/parts_upload.h"

#include <fmt/format.h>

#include <utility>

#include "connectors/s3/content_match.h"
#include "connectors/s3/upload_ledger.h"
#include "millrace/base/printable.h"

namespace millrace::s3_sink {

Result<void> PartsUpload::put(const std::string& key, std::string_view body, PutCondition condition,
                              const std::string& slot) {
  slot_ = slot;
  if (!begun_) MILLRACE_TRY(begin(key, body));
  // Before the first part: an upload without parts is not paid for.
  if (!recorded_) MILLRACE_TRY(upload_->ledger->add(slot, *begun_));
  recorded_ = true;
  if (auto sent = send(body); !sent) {
    return sent.error().code() == ErrorCode::not_found ? gone(key, body, sent.error()) : std::move(sent);
  }
  auto done = upload_->store->complete_upload(*begun_, parts_, condition);
  if (!done && done.error().code() == ErrorCode::not_found) return gone(key, body, done.error());
  if (!done) return fail(std::move(done).error());
  upload_->ledger->forget(slot, *begun_);
  begun_.reset();
  return {};
}

Result<void> PartsUpload::begin(const std::string& key, std::string_view body) {
  UploadRequest request{.key = key,
                        .content_type = upload_->as.content_type,
                        .content_encoding = upload_->as.content_encoding,
                        .metadata = upload_->metadata_of(body),
                        .settings = upload_->as.settings,
                        .checksum = upload_->as.checksum};
  MILLRACE_ASSIGN(begun_, upload_->store->begin_upload(request));
  parts_.clear();
  recorded_ = false;
  return {};
}

Result<void> PartsUpload::send(std::string_view body) {
  MILLRACE_ASSIGN(const PartPlan plan, PartPlan::make(body.size(), upload_->as.part_bytes));
  while (std::cmp_less(parts_.size(), plan.parts())) {
    const PartPlan::Part next = plan.part(static_cast<int>(parts_.size()) + 1);
    MILLRACE_ASSIGN(PartResult sent,
                    upload_->store->put_part(*begun_, next.number, body.substr(next.offset, next.size)));
    parts_.push_back(std::move(sent));
  }
  return {};
}

/// J06: completed, and the answer was lost; or ended by a rule of the bucket.
Result<void> PartsUpload::gone(const std::string& key, std::string_view body, const Error& error) {
  upload_->ledger->forget(slot_, *begun_);
  begun_.reset();
  const auto found = match_content(*upload_->store, key, body);
  if (found && found->match == Match::same) return {};
  return fail(
      Error::retryable(ErrorCode::not_found,
                       fmt::format("the upload in parts is gone, and its object was not found, so it is begun again; "
                                   "a rule of the bucket that ends uploads may do so too early: {}",
                                   error.message())));
}

void PartsUpload::drop() {
  if (!begun_) return;
  const UploadId upload = *std::exchange(begun_, std::nullopt);
  if (auto aborted = upload_->store->abort_upload(upload); !aborted) {
    upload_->log.warn(
        "an upload in parts could not be aborted; the next run tries again",
        {{"object", printable_key(upload_->location(upload.key))}, {"error", aborted.error().describe()}});
    return;
  }
  upload_->ledger->forget(slot_, upload);
}

}  // namespace millrace::s3_sink
