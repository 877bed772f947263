// SPDX-License-Identifier: Apache-2.0
// LaneSink: a lane's end of a sink. Encoders append to the partition's open chunk; when a limit is met the chunk is
// sealed, its footer written, and offered to the sink's queue. A lane never waits: what the queue does not take stays
// here and the lane is blocked (INV-4). Owned and used by one lane thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>

#include "millrace/ack/ack_issuer.h"
#include "millrace/base/bytes.h"
#include "millrace/sink/sealed_batch.h"
#include "millrace/sink/sink.h"
#include "millrace/source/payload_batch.h"

namespace millrace {

/// Takes sealed batches for the I/O threads. Implemented by the engine; testing has a capturing one. Thread-safe.
class SealedBatchQueue {
 public:
  virtual ~SealedBatchQueue() = default;
  /// Moves from `batch` and returns true, or leaves it as it is and returns false when full. Never waits. Whoever is
  /// refused offers again, or withdraws.
  [[nodiscard]] virtual bool try_push(SealedBatch& batch) = 0;
  /// A buffer that a written batch has left behind, empty but with its capacity; or a fresh one.
  [[nodiscard]] virtual ByteBuffer take_buffer() = 0;
  /// What `lane` was refused will not be offered again: the room kept for it is free for others.
  virtual void withdraw(LaneId /*lane*/) {}
};

class LaneSink {
 public:
  struct Options {
    LaneId lane;
    PartitionId partition;
    SealPolicy policy;
    Envelope envelope;
    /// Counts up from here. A lane that comes back under a later epoch starts above all it has used.
    std::uint64_t first_sequence = 0;
    Clock* clock = &Clock::real();
  };
  LaneSink(Options options, SealedBatchQueue& queue);
  ~LaneSink();
  LaneSink(const LaneSink&) = delete;
  LaneSink& operator=(const LaneSink&) = delete;

  /// The batch whose records follow. Called by the chain at the start of every run over (part of) a batch; seals what
  /// is open when it must not be mixed with this batch.
  void begin_batch(const PayloadBatch& batch);

  /// Before each source record: must the open chunk be sealed (for `boundary`) because this record may not share it?
  /// Asking lets the chain split the ack exactly there; begin_record() seals by itself when nobody asked.
  [[nodiscard]] bool seal_before(const RecordMeta& meta) const noexcept {
    return boundary_span_ != 0 && open_.records != 0 && crosses_boundary(meta);
  }
  /// Where the encoder puts the next record's bytes; separator and header are there already. Opens a chunk when none is
  /// open. Ends with end_record or rollback_record.
  [[nodiscard]] ByteBuffer& begin_record(const RecordMeta& meta) {
    if (open_.records == 0 || boundary_span_ != 0) [[unlikely]]
      prepare_chunk(meta);
    open_.bytes.truncate(whole_);
    if (open_.records != 0) open_.bytes.append(options_.envelope.separator);
    return open_.bytes;
  }
  /// The record is whole: counts it and takes a reference on `ack`, one for each batch and chunk.
  void end_record(const RecordMeta& meta, const AckRef& ack) {
    if (open_.records++ == 0) [[unlikely]]
      begin_chunk(meta);
    whole_ = open_.bytes.size();
    open_.last_offset = meta.offset;
    open_.appended = batch_time_;
    open_.acks.add(ack);
  }
  /// Takes back what was written since begin_record.
  void rollback_record() { open_.bytes.truncate(whole_); }

  /// After each whole source record: must the open chunk be sealed now? Cheap.
  [[nodiscard]] bool seal_due() const noexcept {
    return open_.bytes.size() >= max_bytes_ || open_.records >= max_records_;
  }
  /// Why, when seal_due().
  [[nodiscard]] SealReason due_reason() const noexcept {
    return open_.bytes.size() >= max_bytes_ ? SealReason::size : SealReason::records;
  }
  /// Closes the open chunk, if it has records, and offers it. A record that was begun and not ended is no part of it.
  void seal(SealReason reason);
  /// Seals for age and idle; the lane loop calls it between runs of the chain with the present time. Returns the next
  /// time it wants to be called, or SteadyTime::max().
  [[nodiscard]] SteadyTime tick(SteadyTime now);
  /// Offers what is sealed again, oldest first. True when nothing is left.
  bool offer();
  [[nodiscard]] bool blocked() const noexcept { return !sealed_.empty(); }
  [[nodiscard]] bool has_open_records() const noexcept { return open_.records != 0; }
  [[nodiscard]] std::size_t open_bytes() const noexcept { return open_.bytes.size(); }
  /// The oldest batch that the open chunk answers for; null when it answers for none. A watermark that waits for this
  /// one waits for a seal, not for a write.
  [[nodiscard]] const AckRef* oldest_open() const noexcept { return open_.acks.oldest(); }
  /// Fails what is open and what is sealed here: it will not be written. Returns how many records that were.
  std::uint64_t abandon();

 private:
  [[nodiscard]] bool crosses_boundary(const RecordMeta& meta) const noexcept;
  void prepare_chunk(const RecordMeta& meta);
  void begin_chunk(const RecordMeta& meta);

  const Options options_;
  const std::size_t max_bytes_;  ///< the policy's limits, with "off" as the largest number
  const std::uint64_t max_records_;
  const std::int64_t boundary_span_;  ///< microseconds between two boundaries; 0: none
  SealedBatchQueue* const queue_;
  EncodedChunk open_;
  std::deque<SealedBatch> sealed_;  ///< what the queue has not taken yet; the chain stops as soon as there is one
  std::shared_ptr<const Origin> batch_origin_;
  SteadyTime batch_time_;
  std::size_t whole_ = 0;  ///< where the last whole record of the open chunk ends
  std::uint64_t next_sequence_;
};

}  // namespace millrace
