// SPDX-License-Identifier: Apache-2.0
// S3Lane: one lane's slice of the listing, object after object, as batches of frames. Decompresses and frames on its
// own thread; bytes come from the fetch loop. A batch never spans objects; the last one of an object carries the
// object's completion offset, so that a finished object is never read again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "connectors/s3/failure.h"
#include "connectors/s3/fetch_loop.h"
#include "connectors/s3/lane_progress.h"
#include "connectors/s3/metrics.h"
#include "connectors/s3/offset.h"
#include "connectors/s3/quarantine.h"
#include "connectors/s3/route.h"
#include "millrace/ack/ack_issuer.h"
#include "millrace/codec/decompressor.h"
#include "millrace/connectors/s3.h"
#include "millrace/framing/frame_reader.h"
#include "millrace/record/record_meta.h"
#include "millrace/source/lane.h"

namespace millrace::s3_source {

class S3Lane final : public SourceLane {
 public:
  /// What all lanes of a source share. Copied into each.
  struct Setup {
    std::uint32_t first_partition = 0;  ///< of lane 0
    std::shared_ptr<FetchLoop> fetch;
    std::shared_ptr<Failure> failure;  ///< of the source
    AckIssuer acks;
    ObjectCodec compression = ObjectCodec::auto_detect;
    FramerFactory framer = nullptr;
    FramerOptions framer_options;
    bool receipt = false;     ///< note what was read of each object
    bool quarantine = false;  ///< faulty objects are set aside, and the lane goes on behind them
    std::shared_ptr<Atomic<std::uint64_t>> faults_told;  ///< kinds of faults that were said at warn; with `quarantine`
    DecompressorOptions decompressor_options;
    Origin origin;    ///< stream, topic and bucket; the rest is each object's
    std::string url;  ///< what a key is put behind in messages
    SourceMetrics metrics;
    Clock* clock = &Clock::real();
    Logger log;
  };
  S3Lane(LaneId id, Setup setup, LaneRoute route, std::shared_ptr<LaneProgress> progress);
  ~S3Lane() override;

  [[nodiscard]] LaneId id() const override { return id_; }
  [[nodiscard]] PartitionId partition() const override { return PartitionId(setup_.first_partition + id_.value()); }
  [[nodiscard]] Result<PollResult> poll(std::size_t max_records, Duration timeout) override;
  bool set_waker(Waker waker) override;
  [[nodiscard]] bool set_aside(Offset failed, const Error& error) override;

 private:
  Result<PollResult> step(std::size_t max_records);
  Result<PollResult> advance(std::size_t max_records);
  Result<PollResult> begin_object();
  Result<PollResult> frame(std::size_t max_records);
  Result<PollResult> batch_of(std::size_t from);
  Result<PollResult> skip_object();
  PollResult completion_batch(std::uint64_t ordinal);
  Result<void> start_reading(Piece& piece);
  Result<void> check_first_frame() const;
  void take_columns();
  [[nodiscard]] Error unreadable(Error error) const;
  std::optional<Piece> take_piece();
  void push(Piece piece);
  void release_piece();
  void finish_object();
  void done_up_to(std::uint64_t last);
  Error located(Error error) const;
  [[nodiscard]] std::string name() const;
  [[nodiscard]] ListedObject object() const { return route_.object(ordinal_); }
  Decompressor* decompressor(Codec codec);
  // Faulty objects, with `quarantine` only.
  PollResult leave_object();
  void note_fault(std::uint64_t ordinal, std::uint64_t records, const Error& error);
  void fold(std::size_t from, std::size_t count);
  // Records that are written already.
  Result<void> check_visit() const;
  Result<void> count_off(std::size_t count);
  [[nodiscard]] Error too_short() const;
  [[nodiscard]] QuarantinedObject aside(std::uint64_t ordinal, std::uint64_t records) const;

  const LaneId id_;
  Setup setup_;
  const std::shared_ptr<LaneProgress> progress_;
  LaneFeed& feed_;
  Waker waker_;
  std::optional<Error> failed_;

  LaneRoute route_;
  std::uint64_t ordinal_;      // the object being read, or the next one; LaneRoute::kEnd behind the last
  std::uint64_t index_ = 0;    // the record of it that comes next
  std::uint64_t discard_ = 0;  // committed records still to be counted off
  bool reading_ = false;       // the object has begun
  Codec codec_ = Codec::none;
  std::size_t charge_ = 0;           // of the piece in the reader
  std::uint64_t counted_bytes_ = 0;  // decoded bytes of the object already in the metrics
  bool leaving_ = false;             // the rest of the object is not delivered
  bool proven_ = false;              // its first records are those that an earlier run wrote
  RecordsHash records_hash_;         // of the object's records that were delivered, by earlier runs too
  struct Lent {
    std::size_t from = 0;  // in frames_
    std::size_t count = 0;
    std::uint64_t index = 0;  // of the first one
  } lent_;                    // the latest batch, as long as it is not in the hash
  std::shared_ptr<const Origin> origin_;
  std::unique_ptr<Decompressor> decompressor_;  // of the latest compressed object, so that a lane pays for one codec
  Codec decompressor_codec_ = Codec::none;
  FrameReader reader_;
  Frames frames_;  // last: views of what stands above
};

}  // namespace millrace::s3_source
