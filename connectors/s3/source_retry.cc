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

/// A retry that ended in the middle left objects without a line in the receipt. It gets them as they were set aside;
/// what the retry wrote of one counts for nothing, and the next writes it again.
Result<ReceiptNews> BackfillSource::settle_left_retry(const std::vector<PartialReceipt>& partial) {
  Quarantine left;
  for (const PartialReceipt& one : partial) {
    const auto at = position_of(Watermark(one.watermark));
    const QuarantinedObject* object = at ? find(quarantined_, one.lane, at->ordinal) : nullptr;
    if (object == nullptr) continue;
    QuarantinedObject as_it_was = *object;
    as_it_was.retry.reset();
    set_aside(left, as_it_was);
    set_aside(quarantined_, std::move(as_it_was));
  }
  ReceiptNews news;
  ReceiptBook book(routes_to(listing_, visits_of(left, *listing_, routes_.size())), partial);
  for (const QuarantinedObject& object : left) {
    book.set_aside(object);
    MILLRACE_TRY(book.advance(object.lane, {object.ordinal, kObjectComplete}, news.lines));
  }
  return news;
}

Result<void> BackfillSource::commit_retry(std::span<const PartitionWatermark> watermarks) {
  ReceiptNews news;
  for (const PartitionWatermark& moved : watermarks) {
    MILLRACE_ASSIGN(const std::uint32_t lane, lane_of(moved.partition));
    MILLRACE_ASSIGN(Position at, position_of(moved.watermark));
    Quarantine again = progress_[lane]->set_aside.take_behind(moved.watermark);
    retry_->set_aside_again(again);
    // The rest of it is not delivered, so the position inside it is its end.
    if (retry_->is_aside_again(lane, at.ordinal)) at.index = kObjectComplete;
    if (receipt_book_) {
      for (QuarantinedObject& object : again) {
        object.retry.reset();  // its line has what is proven, and no more
        receipt_book_->set_aside(object);
      }
      MILLRACE_TRY(add_to_receipt(lane, moved.watermark, at, {}, news.lines));
    }
    retry_->advance(lane, at);
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
