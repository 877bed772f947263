// SPDX-License-Identifier: Apache-2.0
// LaneSink: a lane's end of a sink. Encoders append to an open file, of which there is one, or one for each hour or day
// where the policy keeps them apart; it is compressed as it grows, and spills to disk when memory is short. When a
// limit is met a file is sealed, its footer written, and offered to the sink's queue. A lane never waits: what the
// queue does not take stays here and the lane is blocked (INV-4). Owned and used by one lane thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/ack/ack_issuer.h"
#include "millrace/base/bytes.h"
#include "millrace/codec/compressor.h"
#include "millrace/sink/open_budget.h"
#include "millrace/sink/open_file.h"
#include "millrace/sink/open_file_set.h"
#include "millrace/sink/recall.h"
#include "millrace/sink/sealed_batch.h"
#include "millrace/sink/sink.h"
#include "millrace/source/payload_batch.h"

#pragma GCC visibility push(default)
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
  /// Has the writer of the partition answer; here, with nothing. Never waits. A queue that is closed answers nothing.
  virtual void ask(std::shared_ptr<RecallRequest> request) { request->answer({}); }
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
    RouteSpec route{};  ///< makes the routes that begin_record() is given
    /// Counts up from here. A lane that comes back under a later epoch starts above all it has used.
    std::uint64_t first_sequence = 0;
    Clock* clock = &Clock::real();
    std::shared_ptr<OpenBudget> budget;  ///< of all lanes of the sink; null: no bound
    bool recalls = false;                ///< the sink is asked what it holds before the first record
    Waker waker{};                       ///< of the lane's thread, for the answer
    bool named_by_content = false;       ///< as SealedBatch says
    bool framed = false;                 ///< its writers take chunks apart (EncodeFormat::framed)
    Logger log{};
  };
  LaneSink(Options options, SealedBatchQueue& queue);
  ~LaneSink();
  LaneSink(const LaneSink&) = delete;
  LaneSink& operator=(const LaneSink&) = delete;

  /// The batch whose records follow. Called by the chain at the start of every run over (part of) a batch; seals what
  /// is open when it must not be mixed with this batch.
  void begin_batch(const PayloadBatch& batch);
  /// Why nothing of the batch that was begun may be taken: it contradicts what the sink recalls.
  [[nodiscard]] std::optional<Error> take_refusal() noexcept { return std::exchange(refusal_, std::nullopt); }

  [[nodiscard]] const RouteSpec& route_spec() const noexcept { return options_.route; }
  [[nodiscard]] bool framed() const noexcept { return options_.framed; }

  /// Before each source record: does it belong to a file that is not open, while as many are open as may be? Asking
  /// lets the chain split the ack exactly there and make_room(). When nobody asked, or by the record's time alone it
  /// cannot be known, there is one file more until the source record is whole: half of one must not be durable.
  [[nodiscard]] bool seal_before(const RecordMeta& meta) const noexcept {
    return boundary_span_ != 0 && !options_.policy.routed && files_.size() >= max_open_ &&
           find(bucket_of(meta), {}) == nullptr;
  }
  /// Seals the file that was not used for longest.
  void make_room();
  /// Where the encoder puts the next record's bytes; separator and header are there already. Opens the record's file
  /// when it is not open. `route`: where the policy is routed, of this record; copied. Ends with end_record or
  /// rollback_record.
  [[nodiscard]] ByteBuffer& begin_record(const RecordMeta& meta, std::string_view route = {}) {
    if (current_ == nullptr || choosing_) [[unlikely]]
      choose(meta, route);
    ByteBuffer& bytes = current_->chunk.bytes;
    bytes.truncate(current_->whole);
    if (current_->chunk.records != 0) bytes.append(options_.envelope.separator);
    return bytes;
  }
  /// The record is whole: counts it and takes a reference on `ack`, one for each batch and file; unless it is durable
  /// already.
  void end_record(const RecordMeta& meta, const AckRef& ack) {
    EncodedChunk& open = current_->chunk;
    if (open.records++ == 0 && !begin_file(meta)) [[unlikely]]
      return;
    current_->whole = open.bytes.size();
    open.last_offset = meta.offset;
    open.appended = batch_time_;
    open.acks.add(ack);
    if (open.bytes.size() >= current_->look_at || open.records >= max_records_) [[unlikely]]
      look(*current_);
  }
  /// Takes back what was written since begin_record.
  void rollback_record() { current_->chunk.bytes.truncate(current_->whole); }

  /// After each whole source record: must a file be sealed now? Cheap.
  [[nodiscard]] bool seal_due() const noexcept { return due_; }
  /// Seals the files that seal_due() is about.
  void seal_due_files();
  /// Closes every open file that has records, and offers it. A record that was begun and not ended is no part of it. A
  /// file that may not end yet (SealPolicy::by_content, or one that an earlier run began to write) stays open under
  /// `pressure`, and is put off by `drain`.
  void seal(SealReason reason);
  /// Seals for age and idle, and gives up memory when there is too little for all lanes; the lane loop calls it between
  /// runs of the chain with the present time. Returns the next time it wants to be called, or SteadyTime::max().
  [[nodiscard]] SteadyTime tick(SteadyTime now);
  /// Offers what is sealed again, oldest first. True when nothing is left.
  bool offer();
  [[nodiscard]] bool blocked() const noexcept { return asked_ != nullptr || !sealed_.empty(); }
  /// Waits for no answer any more, and has taken nothing. True when it did.
  bool stop_asking() noexcept { return std::exchange(asked_, nullptr) != nullptr; }
  [[nodiscard]] std::size_t open_files() const noexcept { return files_.size(); }
  /// Encoded bytes in them, wherever they lie.
  [[nodiscard]] std::uint64_t open_bytes() const noexcept;
  /// The oldest batch that an open file answers for; null when they answer for none. A watermark that waits for this
  /// one waits for a seal, not for a write.
  [[nodiscard]] const AckRef* oldest_open() const noexcept;
  /// Records that a drain has put off since the last call.
  [[nodiscard]] std::uint64_t take_put_off() noexcept { return std::exchange(put_off_, 0); }
  /// Records left out since the last call, as they were durable already.
  [[nodiscard]] std::uint64_t take_recalled() noexcept { return std::exchange(recalled_records_, 0); }
  /// Fails what is open and what is sealed here: it will not be written. Returns how many records that were.
  std::uint64_t abandon();

 private:
  /// Bytes of it that max_bytes counts.
  [[nodiscard]] std::uint64_t counted(const OpenFile& file) const noexcept {
    return file.size() - std::min(file.size(), file.chunk.records * options_.policy.uncounted);
  }
  [[nodiscard]] bool is_due(const OpenFile& file) const noexcept {
    if (file.cut) return file.chunk.last_offset >= *file.cut;
    return counted(file) >= max_bytes_ || file.chunk.records >= max_records_;
  }
  [[nodiscard]] bool may_end(const OpenFile& file) const noexcept { return !file.cut && !options_.policy.by_content; }
  void look(OpenFile& file);
  void pack(OpenFile& file);
  void look_again_at(OpenFile& file) const noexcept;
  [[nodiscard]] std::size_t spillable(const OpenFile& file) const noexcept;
  [[nodiscard]] bool spill(OpenFile& file);
  void share_memory();
  [[nodiscard]] std::int64_t bucket_of(const RecordMeta& meta) const noexcept;
  [[nodiscard]] OpenFile* find(std::int64_t bucket, std::string_view route) const noexcept;
  void choose(const RecordMeta& meta, std::string_view route);
  [[nodiscard]] bool is_durable(const RecordMeta& meta, std::int64_t bucket, std::string_view route);
  [[nodiscard]] bool begin_file(const RecordMeta& meta);
  bool hear();
  void compare(const PayloadBatch& batch);
  void tell_recalled();
  template <class What>
  void for_each_file(What what);
  void due(OpenFile& file);
  [[nodiscard]] std::unique_ptr<OpenFile> take_out(OpenFile& file);
  void seal_file(OpenFile& open, SealReason reason);
  void put_off(OpenFile& open);
  [[nodiscard]] SteadyTime due_time(const EncodedChunk& chunk) const noexcept;

  const Options options_;
  const std::size_t max_bytes_;  ///< the policy's limits, with "off" as the largest number
  const std::uint64_t max_records_;
  const std::int64_t boundary_span_;  ///< microseconds between two boundaries; 0: none
  const std::size_t max_open_;
  SealedBatchQueue* const queue_;
  const std::unique_ptr<Compressor> compressor_;  ///< null: files stay as they are encoded
  OpenFileSet files_;                             ///< those with records
  std::unique_ptr<OpenFile> fresh_;               ///< one without, which the next file will be
  OpenFile* current_ = nullptr;                   ///< the one used last, if it is still open
  std::vector<OpenFile*> due_files_;              ///< that have reached a limit
  bool choosing_;                                 ///< the next record may belong elsewhere
  bool due_ = false;                              ///< some file is to be sealed
  SteadyTime next_due_ = SteadyTime::max();       ///< no file is too old or too quiet before this
  std::deque<SealedBatch> sealed_;  ///< what the queue has not taken yet; the chain stops as soon as there is one
  std::shared_ptr<const Origin> batch_origin_;
  SteadyTime batch_time_;
  UnixMicros batch_arrival_ = kNoTimestamp;  ///< with by_arrival
  std::uint64_t next_sequence_;
  std::shared_ptr<RecallRequest> asked_;  ///< until it is answered nothing is taken
  bool heard_ = false;
  Offset recall_reaches_;                 ///< how far that says something
  std::optional<Recall> recall_;          ///< until it says nothing of the records that come
  std::unique_ptr<OpenFile> left_out_;    ///< what records are encoded into that are durable already
  UnixMicros read_until_ = kNoTimestamp;  ///< no record of the batches so far has a later time
  std::optional<Error> refusal_;
  std::uint64_t recalled_records_ = 0;
  std::uint64_t recalled_total_ = 0;  ///< not told yet
  std::uint64_t put_off_ = 0;
  std::size_t sealed_memory_ = 0;  ///< of what the queue has not taken
  std::size_t memory_ = 0;         ///< as the budget was told
  bool warned_of_spool_ = false;   ///< that nothing could be spilled
};

}  // namespace millrace
#pragma GCC visibility pop
