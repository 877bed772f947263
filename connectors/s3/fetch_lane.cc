// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/fetch_lane.h"

#include <algorithm>
#include <utility>

namespace millrace::s3_source {

FetchLane::FetchLane(std::shared_ptr<const Listing> the_listing, std::uint64_t the_index, std::uint64_t the_lanes,
                     Position start)
    : listing(std::move(the_listing)),
      index(the_index),
      lanes(the_lanes),
      objects(listing->objects_of_lane(index, lanes)),
      ordinal(start.ordinal + (start.object_complete() ? 1 : 0)) {
  if (start.index > 0 && !start.object_complete()) resumed = start.ordinal;
}

bool FetchLane::settle() {
  for (; ordinal < objects; ++ordinal, offset = 0) {
    const ListedObject next = object(ordinal);
    if (next.has_bytes() && offset < next.size) return true;
  }
  return false;
}

std::size_t FetchLane::next_length(const ReadChunks& chunks) const {
  return std::min<std::uint64_t>(chunks.read_bytes(), object(ordinal).size - offset);
}

ObjectRead& FetchLane::begin(const ReadChunks& chunks, const RetryPolicy& retry, Random& random) {
  ObjectRead& read = *reads.emplace_back(std::make_unique<ObjectRead>(retry, random));
  read.lane = index;
  read.ordinal = ordinal;
  read.offset = offset;
  read.length = next_length(chunks);
  read.last = read.offset + read.length == object(ordinal).size;
  read.charge = chunks.charge_of(read.length);
  read.chunk = chunks.take(read.length, read.offset);
  charged += read.charge;
  offset += read.length;
  return read;
}

ObjectRead* FetchLane::due_retry(SteadyTime now) {
  const auto due = std::ranges::find_if(
      reads, [now](const auto& read) { return read->state == ObjectRead::State::waiting && read->retry_at <= now; });
  return due == reads.end() ? nullptr : due->get();
}

SteadyTime FetchLane::earliest_retry() const {
  SteadyTime earliest = SteadyTime::max();
  for (const auto& read : reads) {
    if (read->state == ObjectRead::State::waiting) earliest = std::min(earliest, read->retry_at);
  }
  return earliest;
}

Taken FetchLane::taken_of(const ObjectRead& read) const {
  if (resumed == read.ordinal) return Taken::committed;
  return read.offset == 0 ? Taken::nothing : Taken::something;
}

void FetchLane::skip(std::uint64_t object) {
  skipped = object;
  if (ordinal != object) return;
  ++ordinal;
  offset = 0;
}

std::optional<std::string> FetchLane::other_version(const ObjectRead& read) {
  if (ETag{std::string(object(read.ordinal).etag)}.pins()) return std::nullopt;
  if (versioned_ == read.ordinal && version_ != read.info.etag.value) return version_;
  versioned_ = read.ordinal;
  version_ = read.info.etag.value;
  return std::nullopt;
}

}  // namespace millrace::s3_source
