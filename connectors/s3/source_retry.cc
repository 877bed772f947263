// SPDX-License-Identifier: Apache-2.0
// The part of BackfillSource that reads again what was set aside (docs/adr/0011-quarantine.md): watermarks move along
// the entries of the manifest, its positions stay where they are.
#include <utility>

#include "connectors/s3/source.h"

namespace millrace::s3_source {

void BackfillSource::begin_retry(Prepared& prepared) {
  for (const LaneRoute& route : routes_) {
    for (LaneRoute at = route; !at.at_end(); at.next()) retry_bytes_ += at.object().size;
  }
  retry_.emplace(listing_, std::move(prepared.visits), prepared.manifest);
}

Result<void> BackfillSource::commit_retry(std::span<const PartitionWatermark> watermarks) {
  ReceiptNews news;
  for (const PartitionWatermark& moved : watermarks) {
    MILLRACE_ASSIGN(const std::uint32_t lane, lane_of(moved.partition));
    MILLRACE_ASSIGN(const Position at, position_of(moved.watermark));
    retry_->advance(lane, at, progress_[lane]->set_aside.take_behind(moved.watermark));
    if (receipt_book_) MILLRACE_TRY(add_to_receipt(lane, moved.watermark, at, {}, news.lines));
  }
  if (receipt_book_) news.partial = receipt_book_->partial();
  quarantined_ = retry_->left();
  keeper_->submit_retry({.left = quarantined_,
                         .positions = retry_->take_positions(),
                         .listing = retry_->listed(),
                         .whole = retry_->whole(),
                         .done = retry_->done()},
                        std::move(news));
  // What was handed over is tried again and again; that it fails must not stay between the keeper and the log.
  if (auto error = keeper_->last_error()) return fail(*std::move(error));
  return {};
}

}  // namespace millrace::s3_source
