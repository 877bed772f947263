// SPDX-License-Identifier: Apache-2.0
// The part of BackfillSource that takes watermarks: what they mean for the manifest, the objects left out and set
// aside, and the receipt.
#include <fmt/format.h>

#include <utility>

#include "connectors/s3/source.h"
#include "millrace/base/printable.h"

namespace millrace::s3_source {

Result<void> BackfillSource::commit(std::span<const PartitionWatermark> watermarks) {
  if (failure_->happened()) return fail(*failure_->error());
  std::vector<LanePosition> positions;
  std::vector<std::string> skipped;
  ReceiptNews news;
  bool more_aside = false;
  const MutexLock lock(mutex_);
  if (retry_) return commit_retry(watermarks);
  for (const PartitionWatermark& moved : watermarks) {
    MILLRACE_ASSIGN(const std::uint32_t lane, lane_of(moved.partition));
    Watermark watermark = moved.watermark;
    MILLRACE_ASSIGN(const bool aside, set_aside_behind(lane, watermark));
    more_aside = more_aside || aside;
    MILLRACE_ASSIGN(LanePosition position, trails_[lane].advance(watermark));
    const Position at = position.position();
    committed_[lane] = at;
    const auto left_out = progress_[lane]->skipped.take_before(at.ordinal + (at.object_complete() ? 1 : 0));
    for (const std::uint64_t ordinal : left_out) {
      skipped.emplace_back(listing_->object_of_lane(lane, progress_.size(), ordinal).key);
    }
    if (receipt_book_) MILLRACE_TRY(add_to_receipt(lane, moved.watermark, at, left_out, news.lines));
    positions.push_back(std::move(position));
  }
  if (!keeper_ && !positions.empty()) {
    return fail(Error::fatal(ErrorCode::rule_broken, "a commit came although no lane had anything to read"));
  }
  if (!keeper_) return {};
  if (receipt_book_) news.partial = receipt_book_->partial();
  keeper_->submit(positions, all_complete(committed_, *listing_), skipped, std::move(news),
                  more_aside ? std::optional(quarantined_) : std::nullopt);
  // What was handed over is tried again and again; that it fails must not stay between the keeper and the log.
  if (auto error = keeper_->last_error()) return fail(*std::move(error));
  return {};
}

Result<std::uint32_t> BackfillSource::lane_of(PartitionId partition) const {
  const std::uint32_t lane = partition.value() - first_partition();  // huge when it lies before the first
  if (lane < trails_.size()) return lane;
  return fail(Error::fatal(ErrorCode::rule_broken, fmt::format("a commit names partition {} of {} from {}",
                                                               partition.value(), trails_.size(), first_partition())));
}

/// Objects of `lane` that go to the manifest with `watermark`, which becomes the end of the one that it is inside of:
/// the rest of it is not delivered. True when there were some.
Result<bool> BackfillSource::set_aside_behind(std::uint64_t lane, Watermark& watermark) {
  Quarantine aside = progress_[lane]->set_aside.take_behind(watermark);
  for (QuarantinedObject& object : aside) {
    if (receipt_book_) receipt_book_->set_aside(object);
    set_aside(quarantined_, std::move(object));
  }
  if (quarantined_.size() > kMostQuarantined) {
    const Error error = Error::fatal(
        ErrorCode::limit,
        fmt::format("more than {} objects cannot be read: that is no matter of single objects. Look at one of "
                    "them, '{}{}' ({}), and at the settings (format, compression, decode); with other settings start "
                    "over with --reset and an emptied output",
                    kMostQuarantined, url_base_, printable(quarantined_.back().key), quarantined_.back().reason));
    failure_->set(error);
    return fail(error);
  }
  MILLRACE_ASSIGN(const Position at, position_of(watermark));
  if (find(quarantined_, lane, at.ordinal) != nullptr) {
    watermark = watermark_of({.ordinal = at.ordinal, .index = kObjectComplete});
  }
  return !aside.empty();
}

Result<void> BackfillSource::add_to_receipt(std::uint64_t lane, Watermark watermark, Position at,
                                            std::span<const std::uint64_t> left_out, std::string& lines) {
  const PartitionId partition(first_partition() + static_cast<std::uint32_t>(lane));
  receipt_book_->settle(lane, context_.ledger->take(partition, watermark));
  for (const ObjectFacts& facts : progress_[lane]->facts.take()) receipt_book_->note(lane, facts);
  for (const std::uint64_t ordinal : left_out) receipt_book_->leave_out(lane, ordinal, "archived");
  return receipt_book_->advance(lane, at, lines);
}

}  // namespace millrace::s3_source
