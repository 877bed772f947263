// SPDX-License-Identifier: Apache-2.0
// LaneSink: a lane's end of a sink. Encoders append to the partition's open chunk; when a limit is met the chunk is
// sealed, its footer written, and offered to the sink's queue. A lane never waits: what the queue does not take stays
// here and the lane is blocked (INV-4). Owned and used by one lane thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "millrace/ack/ack_issuer.h"
#include "millrace/base/bytes.h"
#include "millrace/sink/sealed_batch.h"
#include "millrace/sink/sink.h"
#include "millrace/source/payload_batch.h"

namespace millrace {

/// Takes sealed batches for the I/O threads. Implemented by the engine; testing has a capturing one.
class SealedBatchQueue {
 public:
  virtual ~SealedBatchQueue() = default;
  /// Moves from `batch` and returns true, or leaves it as it is and returns false when full. Never waits.
  [[nodiscard]] virtual bool try_push(SealedBatch& batch) = 0;
  /// A buffer that a written batch has left behind, empty but with its capacity; or a fresh one.
  [[nodiscard]] virtual ByteBuffer take_buffer() = 0;
};

class LaneSink {
 public:
  struct Options {
    LaneId lane;
    PartitionId partition;
    SealPolicy policy;
    Envelope envelope;
    Clock* clock = &Clock::real();
  };
  LaneSink(Options options, SealedBatchQueue& queue);

  /// The batch whose records follow, and its ack. `ack` must stay where it is until end_batch(); sealing may split it
  /// (rulings.md 3a).
  void begin_batch(const PayloadBatch& batch);

  /// Where the encoder puts the next record's bytes; separator and header are there already. Opens a chunk when none is
  /// open. Ends with end_record or rollback_record.
  [[nodiscard]] ByteBuffer& begin_record(const RecordMeta& meta);
  /// The record is whole: counts it and takes a reference on `ack`.
  void end_record(const RecordMeta& meta, const AckRef& ack);
  /// Takes back what was written since begin_record.
  void rollback_record();

  /// After each whole source record: must the open chunk be sealed now? Cheap.
  [[nodiscard]] bool seal_due() const noexcept { return due_; }
  /// Closes the open chunk, if it has records, and offers it.
  void seal(SealReason reason);
  /// Seals for age and idle; the lane loop calls it between batches with the present time. Returns the next time it
  /// wants to be called.
  [[nodiscard]] SteadyTime tick(SteadyTime now);
  /// Offers what is sealed again. True when nothing is left.
  bool offer();
  [[nodiscard]] bool blocked() const noexcept { return !sealed_.empty(); }
  [[nodiscard]] bool has_open_records() const noexcept { return open_.records != 0; }
  [[nodiscard]] std::size_t open_bytes() const noexcept { return open_.bytes.size(); }
  /// Fails what is open and what is sealed here: it will not be written.
  void abandon();

 private:
  void open_chunk(const RecordMeta& meta);
  Options options_;
  SealedBatchQueue* queue_;
  EncodedChunk open_;
  std::deque<SealedBatch> sealed_;
  std::shared_ptr<const Origin> batch_origin_;
  std::size_t record_start_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::int64_t open_boundary_ = 0;
  bool due_ = false;
};

}  // namespace millrace
