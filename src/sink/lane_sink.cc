// SPDX-License-Identifier: Apache-2.0
#include "millrace/sink/lane_sink.h"

#include <algorithm>
#include <utility>

#include "millrace/record/record_place.h"

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
      max_open_(std::max<std::size_t>(options_.policy.max_open, 1)),
      queue_(&queue),
      compressor_(options_.policy.compression.codec == Codec::none ? nullptr
                                                                   : make_compressor(options_.policy.compression)),
      choosing_(boundary_span_ != 0 || options_.policy.routed),
      next_sequence_(options_.first_sequence) {
  if (options_.budget) options_.budget->join();
}

LaneSink::~LaneSink() {
  abandon();
  if (options_.budget) options_.budget->leave();
}

void LaneSink::begin_batch(const PayloadBatch& batch) {
  batch_time_ = options_.clock->now();
  if (options_.policy.by_arrival) batch_arrival_ = options_.clock->unix_micros();
  if (options_.recalls && !heard_ && !asked_) {
    const Offset from = batch.payloads.empty() ? Offset(0) : batch.offset(0);
    asked_ = std::make_shared<RecallRequest>(options_.partition, from, batch.origin, options_.waker);
    queue_->ask(asked_);
    if (!hear()) return;
  }
  if (options_.recalls) {
    compare(batch);
    if (refusal_) return;
  }
  // Between batches no record is half-way, so what is sealed here answers for earlier batches only.
  if (options_.policy.per_object && !files_.empty() &&
      !same_object(files_.front().chunk.origin.get(), batch.origin.get())) {
    seal(SealReason::boundary);
  }
  batch_origin_ = batch.origin;
}

std::int64_t LaneSink::bucket_of(const RecordMeta& meta) const noexcept {
  const UnixMicros time = options_.policy.by_arrival ? batch_arrival_ : meta.timestamp;
  if (boundary_span_ == 0 || time == kNoTimestamp) return FileSeries::kNoTime;
  return bucket(time, boundary_span_);
}

/// True when nothing is asked that is not answered.
bool LaneSink::hear() {
  if (!asked_) return true;
  if (!asked_->answered()) return false;
  recall_ = std::exchange(asked_, nullptr)->take();
  recall_reaches_ = recall_->reaches();
  heard_ = choosing_ = true;
  current_ = nullptr;
  return true;
}

/// Other records under the offsets of those that are durable would be left out in silence. Of a batch that is refused
/// nothing may reach what is noted.
void LaneSink::compare(const PayloadBatch& batch) {
  UnixMicros latest = read_until_;
  for (std::size_t i = 0; i < batch.payloads.size(); ++i) {
    const UnixMicros time = batch.timestamps.empty() ? batch.timestamp : batch.timestamps[i];
    latest = std::max(latest, time);
    if (!recall_ || time <= recall_->latest || batch.offset(i) > recall_reaches_) continue;
    refusal_ = recall_->contradicted_by(batch.meta(i));
    if (refusal_) return;
  }
  read_until_ = latest;
}

/// The open file of these records; null when there is none.
OpenFile* LaneSink::find(std::int64_t bucket, std::string_view route) const noexcept {
  if (current_ != nullptr && current_ != fresh_.get() && current_ != left_out_.get() &&
      current_->chunk.series.is(bucket, route)) {
    return current_;
  }
  return files_.find(bucket, route);
}

void LaneSink::tell_recalled() {
  if (recalled_total_ == 0) return;
  options_.log.info("records that an earlier run has written are left out",
                    {{"of", partition_place(options_.partition, batch_origin_.get())},
                     {"records", std::to_string(std::exchange(recalled_total_, 0))},
                     {"up to offset", std::to_string(recall_reaches_.value())}});
}

/// Whether an earlier run has seen to this record. Forgets what was recalled once that reaches no further.
bool LaneSink::is_durable(const RecordMeta& meta, std::int64_t bucket, std::string_view route) {
  if (!recall_) return false;
  if (meta.offset <= recall_reaches_) return recall_->has(bucket, route, meta.offset);
  // Their last records came no more: a chain of now leaves them out.
  for (OpenFile* file : files_.all()) {
    if (!file->cut || *file->cut <= file->chunk.last_offset) continue;
    file->cut = file->chunk.last_offset;
    due(*file);
  }
  tell_recalled();
  recall_.reset();
  if (current_ == left_out_.get()) current_ = nullptr;
  left_out_.reset();
  choosing_ = boundary_span_ != 0 || options_.policy.routed;
  return false;
}

void LaneSink::choose(const RecordMeta& meta, std::string_view route) {
  const std::int64_t bucket = bucket_of(meta);
  if (is_durable(meta, bucket, route)) {
    if (!left_out_) left_out_ = std::make_unique<OpenFile>();
    current_ = left_out_.get();
    return;
  }
  OpenFile* file = find(bucket, route);
  if (file == nullptr) {
    // Half of a source record must not be durable, so room is made behind it.
    if (files_.size() >= max_open_) due_ = true;
    if (!fresh_) fresh_ = std::make_unique<OpenFile>();
    file = fresh_.get();
    if (file->chunk.bytes.capacity() == 0) file->chunk.bytes = queue_->take_buffer();
    // A buffer that once held a large file would use up the lane's share with its first record.
    if (options_.budget && file->chunk.bytes.capacity() > options_.budget->share() / 2)
      file->chunk.bytes = ByteBuffer();
    file->chunk.bytes.clear();
    file->chunk.bytes.append(options_.envelope.header);
    file->whole = file->chunk.bytes.size();
    file->chunk.series.bucket = bucket;
    file->chunk.series.route = route;
    look_again_at(*file);
  }
  if (file == current_) return;
  current_ = file;
  if (file != fresh_.get()) files_.use(*file);
}

/// False when the record is left out.
bool LaneSink::begin_file(const RecordMeta& meta) {
  EncodedChunk& chunk = current_->chunk;
  if (current_ == left_out_.get()) {
    chunk.records = 0;
    ++recalled_records_;
    ++recalled_total_;
    return false;
  }
  chunk.partition = options_.partition;
  chunk.first_offset = meta.offset;
  chunk.first_timestamp = meta.timestamp;
  chunk.opened = batch_time_;
  // The time that its bucket was chosen by, so that its name tells no other hour.
  chunk.opened_unix = options_.policy.by_arrival ? batch_arrival_ : options_.clock->unix_micros();
  chunk.origin = batch_origin_;
  chunk.appended = batch_time_;
  if (const auto* made = recall_ ? recall_->to_be_made(chunk.series, meta.offset) : nullptr) {
    current_->cut = made->last;
    current_->look_at = 0;
  } else {
    next_due_ = std::min(next_due_, due_time(chunk));
  }
  files_.add(std::move(fresh_));
  return true;
}

void LaneSink::make_room() {
  OpenFile* const oldest = files_.unused_longest();
  if (oldest != nullptr) seal_file(*oldest, max_open_ == 1 ? SealReason::boundary : SealReason::pressure);
}

void LaneSink::due(OpenFile& file) {
  due_ = true;
  if (std::ranges::find(due_files_, &file) == due_files_.end()) due_files_.push_back(&file);
}

/// Behind a whole record of a file that has reached a limit, or a block to pack.
void LaneSink::look(OpenFile& file) {
  // First, so that a file that is made again is packed where it was before, whatever ends it now.
  if (compressor_ && file.chunk.bytes.size() >= kPackedBlock) pack(file);
  if (is_due(file)) {
    due(file);
  } else {
    look_again_at(file);
  }
}

void LaneSink::look_again_at(OpenFile& file) const noexcept {
  if (file.cut) {
    file.look_at = 0;
    return;
  }
  // Where the next record cannot take it to its limit; it grows by what is not counted too, so it may be looked at
  // twice.
  const std::size_t here = file.chunk.bytes.size();
  const std::size_t left = max_bytes_ - std::min<std::uint64_t>(counted(file), max_bytes_);
  const std::size_t at = left > std::numeric_limits<std::size_t>::max() - here ? left : here + left;
  file.look_at = compressor_ ? std::min(at, kPackedBlock) : at;
}

/// Calls `what` with each open file, which may be taken out by that.
template <class What>
void LaneSink::for_each_file(What what) {
  for (auto at = files_.all().begin(); at != files_.all().end();) {
    OpenFile& file = **at;
    ++at;
    what(file);
  }
}

void LaneSink::seal_due_files() {
  while (!due_files_.empty()) {
    OpenFile& file = *due_files_.front();
    seal_file(file, counted(file) >= max_bytes_ ? SealReason::size : SealReason::records);
  }
  for (std::size_t before = 0; files_.size() > max_open_ && files_.size() != before;) {
    before = files_.size();
    make_room();
  }
  due_ = false;
}

void LaneSink::seal(SealReason reason) {
  if (recall_ && reason != SealReason::pressure) tell_recalled();
  // What holds the watermark may not end, so ending the others would bring it no further.
  if (reason == SealReason::pressure && !files_.empty() && !may_end(files_.front())) return;
  const bool by_force = reason == SealReason::pressure || reason == SealReason::drain;
  for_each_file([&](OpenFile& file) {
    if (!by_force || may_end(file)) {
      seal_file(file, reason);
    } else if (reason == SealReason::drain) {
      put_off(file);
    }
  });
  due_ = !due_files_.empty();
}

/// The open file as it is; it is open no more.
std::unique_ptr<OpenFile> LaneSink::take_out(OpenFile& file) {
  if (current_ == &file) current_ = nullptr;
  std::erase(due_files_, &file);
  return files_.take(file);
}

void LaneSink::put_off(OpenFile& open) {
  const std::unique_ptr<OpenFile> file = take_out(open);
  put_off_ += file->chunk.records;
  file->chunk.acks.put_off();
}

void LaneSink::seal_file(OpenFile& open, SealReason reason) {
  std::unique_ptr<OpenFile> file = take_out(open);
  ByteBuffer& bytes = file->chunk.bytes;
  bytes.truncate(file->whole);
  bytes.append(options_.envelope.footer);
  file->chunk.read_until = read_until_;
  ByteBuffer plain;  // the next file grows in it
  if (compressor_) {
    file->whole = bytes.size();
    if (!bytes.empty()) pack(*file);
    plain = std::exchange(bytes, std::exchange(file->packed, ByteBuffer()));
  }
  sealed_.push_back({std::exchange(file->chunk, EncodedChunk()),
                     std::move(file->spilled),
                     reason,
                     {options_.lane, next_sequence_++},
                     options_.clock->now(),
                     options_.named_by_content});
  sealed_memory_ += sealed_.back().chunk.bytes.capacity();
  file->encoded = 0;
  file->cut.reset();
  file->chunk.bytes = std::move(plain);
  if (!fresh_) fresh_ = std::move(file);
  offer();
}

SteadyTime LaneSink::due_time(const EncodedChunk& chunk) const noexcept {
  const SealPolicy& policy = options_.policy;
  return std::min(policy.max_age > Duration::zero() ? chunk.opened + policy.max_age : SteadyTime::max(),
                  policy.max_idle > Duration::zero() ? chunk.appended + policy.max_idle : SteadyTime::max());
}

SteadyTime LaneSink::tick(SteadyTime now) {
  share_memory();
  if (files_.empty()) return next_due_ = SteadyTime::max();
  if (now < next_due_) return next_due_;
  next_due_ = SteadyTime::max();
  for_each_file([&](OpenFile& file) {
    const SteadyTime due = may_end(file) ? due_time(file.chunk) : SteadyTime::max();
    if (now < due) {
      next_due_ = std::min(next_due_, due);
    } else {
      const Duration age = options_.policy.max_age;
      seal_file(file, age > Duration::zero() && file.chunk.opened + age <= now ? SealReason::age : SealReason::idle);
    }
  });
  return next_due_;
}

bool LaneSink::offer() {
  if (!hear()) return false;
  while (!sealed_.empty()) {
    const std::size_t memory = sealed_.front().chunk.bytes.capacity();
    if (!queue_->try_push(sealed_.front())) break;
    sealed_memory_ -= memory;
    sealed_.pop_front();
  }
  return sealed_.empty();
}

std::uint64_t LaneSink::open_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (OpenFile* file : files_.all()) bytes += file->size();
  return bytes;
}

// Batches come in order, so the file that was opened first answers for the oldest.
const AckRef* LaneSink::oldest_open() const noexcept {
  return files_.empty() ? nullptr : files_.front().chunk.acks.oldest();
}

std::uint64_t LaneSink::abandon() {
  std::uint64_t records = 0;
  for (OpenFile* file : files_.all()) records += file->chunk.records;
  due_files_.clear();
  files_.clear();
  fresh_.reset();
  left_out_.reset();
  asked_.reset();
  current_ = nullptr;
  due_ = false;
  if (options_.budget) options_.budget->change(std::exchange(memory_, 0), 0);
  if (sealed_.empty()) return records;
  for (const SealedBatch& batch : sealed_) records += batch.chunk.records;
  sealed_.clear();
  sealed_memory_ = 0;
  queue_->withdraw(options_.lane);
  return records;
}

}  // namespace millrace
