// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/retry_state.h"

#include <algorithm>
#include <string>
#include <utility>

#include "connectors/s3/rolling_hash.h"
#include "millrace/base/bounded.h"

namespace millrace::s3_source {
namespace {

std::uint64_t field_hash(const ListedObject& object) {
  std::string fields;
  append_fields(fields, object.key, object.etag, object.size);
  return hash_bytes(fields);
}

ListedObject as_mended(ListedObject object, const Visit::Version& now) {
  object.etag = now.etag;
  object.size = now.size;
  return object;
}

}  // namespace

RetryState::RetryState(std::shared_ptr<const Listing> listing, std::vector<std::vector<Visit>> visits,
                       const Manifest& manifest)
    : listing_(std::move(listing)),
      visits_(std::move(visits)),
      left_(manifest.quarantined),
      positions_(manifest.positions),
      listed_(manifest.listing),
      whole_(manifest.whole) {}

void RetryState::set_aside_again(const Quarantine& again) {
  for (const QuarantinedObject& object : again) {
    again_.insert(place(object.lane, object.ordinal));
    set_aside(left_, object);
  }
}

void RetryState::advance(std::uint64_t lane, Position at) {
  for (const Visit& visit : visits_.at(lane)) {
    const std::uint64_t ordinal = visit.was.ordinal;
    if (ordinal > at.ordinal) break;
    if (is_aside_again(lane, ordinal) || mended(lane, ordinal) != nullptr) continue;
    if (ordinal < at.ordinal || at.object_complete()) {
      take_out(lane, visit);
    } else if (at.index > visit.written() && ETag{visit.now->etag}.pins()) {
      // Of another version only the records that are proven would be counted off.
      QuarantinedObject in_part = visit.was;
      in_part.retry = RetryProgress{visit.now->etag, at.index};
      set_aside(left_, std::move(in_part));
    }
  }
  std::erase_if(left_, [this](const QuarantinedObject& object) { return mended(object.lane, object.ordinal); });
}

void RetryState::take_out(std::uint64_t lane, const Visit& visit) {
  const Place at = place(lane, visit.was.ordinal);
  mended_.emplace(at, *visit.now);
  moved_.insert(lane);
  listed_anew_ = true;
  if (!whole_) return;
  const ListedObject was = (*listing_)[at];
  whole_->hash += field_hash(as_mended(was, *visit.now)) - field_hash(was);
  whole_->bytes += visit.now->size - was.size;
}

const Visit::Version* RetryState::mended(std::uint64_t lane, std::uint64_t ordinal) const {
  const auto found = mended_.find(place(lane, ordinal));
  return found == mended_.end() ? nullptr : &found->second;
}

/// Objects as they are committed now. Beside the listing, which may be long, without a search for each.
template <class Each>
void RetryState::each_from(Place first, Place step, Place end, const Each& each) const {
  auto next = mended_.begin();
  for (Place at = first; at < end; at += step) {
    while (next != mended_.end() && next->first < at) ++next;
    const bool is_mended = next != mended_.end() && next->first == at;
    each(is_mended ? as_mended((*listing_)[at], next->second) : (*listing_)[at]);
  }
}

std::vector<LanePosition> RetryState::take_positions() {
  std::vector<LanePosition> moved;
  for (const std::uint64_t lane : std::exchange(moved_, {})) {
    const auto position = std::ranges::find(positions_, lane, &LanePosition::lane);
    RollingHash hash;
    each_from(lane, visits_.size(), place(lane, position->position().ordinal) + 1, [&](const ListedObject& object) {
      hash.fold(object.key, object.etag, object.size);
      position->etag = object.etag;
    });
    position->prefix_hash = hash.value();
    moved.push_back(*position);
  }
  return moved;
}

const Manifest::Listed& RetryState::listed() {
  if (!std::exchange(listed_anew_, false)) return listed_;
  Manifest::Listed& listed = listed_ = {.objects = listing_->size()};
  RollingHash hash;
  each_from(0, 1, listing_->size(), [&](const ListedObject& object) {
    hash.fold(object.key, object.etag, object.size);
    listed.bytes = bounded_sum(listed.bytes, object.size);
  });
  listed.hash = hash.value();
  return listed;
}

}  // namespace millrace::s3_source
