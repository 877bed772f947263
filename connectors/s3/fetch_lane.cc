// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/fetch_lane.h"

#include <algorithm>
#include <utility>

namespace millrace::s3_source {

FetchLane::FetchLane(std::uint64_t the_index, LaneRoute the_route) : index(the_index), route(std::move(the_route)) {
  if (!route.at_end() && route.written() > 0) resumed = route.ordinal();
}

bool FetchLane::settle() {
  for (; !route.at_end(); route.next(), offset = 0) {
    const ListedObject next = route.object();
    if (next.has_bytes() && offset < next.size) return true;
  }
  return false;
}

std::size_t FetchLane::next_length(const ReadChunks& chunks) const {
  return std::min<std::uint64_t>(chunks.read_bytes(), route.object().size - offset);
}

ObjectRead& FetchLane::begin(const ReadChunks& chunks, const RetryPolicy& retry, Random& random) {
  ObjectRead& read = *reads.emplace_back(std::make_unique<ObjectRead>(retry, random));
  read.lane = index;
  read.ordinal = route.ordinal();
  read.offset = offset;
  read.length = next_length(chunks);
  read.last = read.offset + read.length == route.object().size;
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
  // Of one that stands before: the lane says so late of an object that it met a fault in, and empty ones are not read.
  skipped = std::max(skipped.value_or(0), object);
  for (; !route.at_end() && route.ordinal() <= object; route.next()) offset = 0;
}

std::optional<std::string> FetchLane::other_version(const ObjectRead& read) {
  if (ETag{std::string(object(read.ordinal).etag)}.pins()) return std::nullopt;
  if (versioned_ == read.ordinal && version_ != read.info.etag.value) return version_;
  versioned_ = read.ordinal;
  version_ = read.info.etag.value;
  return std::nullopt;
}

}  // namespace millrace::s3_source
