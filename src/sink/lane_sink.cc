// SPDX-License-Identifier: Apache-2.0
#include "millrace/sink/lane_sink.h"

#include <algorithm>
#include <utility>

namespace millrace {
namespace {

constexpr std::int64_t kMicrosPerHour = 3'600'000'000;

std::int64_t span_of(SealPolicy::Boundary boundary) noexcept {
  switch (boundary) {
    case SealPolicy::Boundary::none:
      return 0;
    case SealPolicy::Boundary::hour:
      return kMicrosPerHour;
    case SealPolicy::Boundary::day:
      return 24 * kMicrosPerHour;
  }
  return 0;
}

// Which hour or day a time lies in. Rounds down, also before 1970.
std::int64_t bucket(UnixMicros time, std::int64_t span) noexcept {
  return time / span - static_cast<std::int64_t>(time % span < 0);
}

bool same_object(const Origin* one, const Origin* other) noexcept {
  if (one == other) return true;
  return one != nullptr && other != nullptr && one->bucket == other->bucket && one->object == other->object;
}

}  // namespace

LaneSink::LaneSink(Options options, SealedBatchQueue& queue)
    : options_(std::move(options)),
      max_bytes_(options_.policy.max_bytes != 0 ? options_.policy.max_bytes : std::numeric_limits<std::size_t>::max()),
      max_records_(options_.policy.max_records != 0 ? options_.policy.max_records
                                                    : std::numeric_limits<std::uint64_t>::max()),
      boundary_span_(span_of(options_.policy.boundary)),
      queue_(&queue),
      next_sequence_(options_.first_sequence) {}

LaneSink::~LaneSink() { abandon(); }

void LaneSink::begin_batch(const PayloadBatch& batch) {
  batch_time_ = options_.clock->now();
  // Between batches no record is half-way, so what is sealed here answers for earlier batches only.
  if (options_.policy.per_object && open_.records != 0 && !same_object(open_.origin.get(), batch.origin.get())) {
    seal(SealReason::boundary);
  }
  batch_origin_ = batch.origin;
}

bool LaneSink::crosses_boundary(const RecordMeta& meta) const noexcept {
  // A record without a time belongs to whatever is open.
  if (meta.timestamp == kNoTimestamp || open_.first_timestamp == kNoTimestamp) return false;
  return bucket(meta.timestamp, boundary_span_) != bucket(open_.first_timestamp, boundary_span_);
}

void LaneSink::prepare_chunk(const RecordMeta& meta) {
  // Within one source record all timestamps are equal, so this never cuts a source record's output in two.
  if (seal_before(meta)) seal(SealReason::boundary);
  if (open_.records != 0) return;
  if (open_.bytes.capacity() == 0) open_.bytes = queue_->take_buffer();
  open_.bytes.clear();
  open_.bytes.append(options_.envelope.header);
  whole_ = open_.bytes.size();
}

void LaneSink::begin_chunk(const RecordMeta& meta) {
  open_.partition = options_.partition;
  open_.first_offset = meta.offset;
  open_.first_timestamp = meta.timestamp;
  open_.opened = batch_time_;
  open_.opened_unix = options_.clock->unix_micros();
  open_.origin = batch_origin_;
}

void LaneSink::seal(SealReason reason) {
  if (open_.records == 0) return;
  open_.bytes.truncate(whole_);
  open_.bytes.append(options_.envelope.footer);
  sealed_.push_back(
      {std::exchange(open_, EncodedChunk()), reason, {options_.lane, next_sequence_++}, options_.clock->now()});
  whole_ = 0;
  offer();
}

SteadyTime LaneSink::tick(SteadyTime now) {
  if (open_.records == 0) return SteadyTime::max();
  const SealPolicy& policy = options_.policy;
  const SteadyTime old = policy.max_age > Duration::zero() ? open_.opened + policy.max_age : SteadyTime::max();
  const SteadyTime quiet = policy.max_idle > Duration::zero() ? open_.appended + policy.max_idle : SteadyTime::max();
  const SteadyTime due = std::min(old, quiet);
  if (now < due) return due;
  seal(old <= now ? SealReason::age : SealReason::idle);
  return SteadyTime::max();
}

bool LaneSink::offer() {
  while (!sealed_.empty() && queue_->try_push(sealed_.front())) sealed_.pop_front();
  return sealed_.empty();
}

std::uint64_t LaneSink::abandon() {
  std::uint64_t records = open_.records;
  open_ = EncodedChunk();
  whole_ = 0;
  if (sealed_.empty()) return records;
  for (const SealedBatch& batch : sealed_) records += batch.chunk.records;
  sealed_.clear();
  queue_->withdraw(options_.lane);
  return records;
}

}  // namespace millrace
