// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/retry_state.h"

#include <algorithm>
#include <string>
#include <utility>

#include "connectors/s3/rolling_hash.h"

namespace millrace::s3_source {
namespace {

std::uint64_t field_hash(const ListedObject& object) {
  std::string fields;
  append_fields(fields, object.key, object.etag, object.size);
  return hash_bytes(fields);
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

void RetryState::advance(std::uint64_t lane, Position at, const Quarantine& again) {
  for (const QuarantinedObject& object : again) {
    again_.emplace(object.lane, object.ordinal);
    set_aside(left_, object);
  }
  for (const Visit& visit : visits_.at(lane)) {
    const std::uint64_t ordinal = visit.was.ordinal;
    if (ordinal > at.ordinal) break;
    if (again_.contains({lane, ordinal}) || mended_.contains({lane, ordinal})) continue;
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
  const std::uint64_t ordinal = visit.was.ordinal;
  const ListedObject was = object(lane, ordinal);
  mended_.emplace(Place{lane, ordinal}, *visit.now);
  moved_.insert(lane);
  listed_anew_ = true;
  if (!whole_) return;
  const ListedObject now = object(lane, ordinal);
  whole_->hash += field_hash(now) - field_hash(was);
  whole_->bytes += now.size - was.size;
}

const Visit::Version* RetryState::mended(std::uint64_t lane, std::uint64_t ordinal) const {
  const auto found = mended_.find({lane, ordinal});
  return found == mended_.end() ? nullptr : &found->second;
}

ListedObject RetryState::object(std::uint64_t lane, std::uint64_t ordinal) const {
  ListedObject object = listing_->object_of_lane(lane, visits_.size(), ordinal);
  if (const Visit::Version* now = mended(lane, ordinal)) {
    object.etag = now->etag;
    object.size = now->size;
  }
  return object;
}

std::vector<LanePosition> RetryState::take_positions() {
  std::vector<LanePosition> moved;
  for (const std::uint64_t lane : std::exchange(moved_, {})) {
    const auto position = std::ranges::find(positions_, lane, &LanePosition::lane);
    RollingHash hash;
    const std::uint64_t last = position->position().ordinal;
    for (std::uint64_t ordinal = 0; ordinal <= last; ++ordinal) {
      const ListedObject object = this->object(lane, ordinal);
      hash.fold(object.key, object.etag, object.size);
    }
    position->etag = object(lane, last).etag;
    position->prefix_hash = hash.value();
    moved.push_back(*position);
  }
  return moved;
}

const Manifest::Listed& RetryState::listed() {
  if (!std::exchange(listed_anew_, false)) return listed_;
  Manifest::Listed& listed = listed_ = {.objects = listing_->size()};
  RollingHash hash;
  for (std::size_t i = 0; i < listing_->size(); ++i) {
    const ListedObject object = this->object(i % visits_.size(), i / visits_.size());
    hash.fold(object.key, object.etag, object.size);
    listed.bytes = object.size > UINT64_MAX - listed.bytes ? UINT64_MAX : listed.bytes + object.size;
  }
  listed.hash = hash.value();
  return listed;
}

}  // namespace millrace::s3_source
