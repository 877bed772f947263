// SPDX-License-Identifier: Apache-2.0
#include "pipeline/lost_batches.h"

#include <limits>
#include <optional>
#include <utility>

namespace millrace {
namespace {

// How long it takes at most to see that the run gives up while there is no room.
constexpr Duration kLook = std::chrono::milliseconds(50);

/// Keeps the one batch that a lane's end seals.
class OneBatch final : public SealedBatchQueue {
 public:
  bool try_push(SealedBatch& batch) override {
    sealed = std::move(batch);
    return true;
  }
  ByteBuffer take_buffer() override { return {}; }
  SealedBatch sealed;
};

}  // namespace

LostBatches::LostBatches(Options options) : options_(std::move(options)), room_(std::make_shared<EventCount>()) {
  options_.queue->wake_when_room(Waker(room_));
}

// Lanes count from 0.
LaneId LostBatches::new_worker() {
  return LaneId(std::numeric_limits<std::uint32_t>::max() - workers_.fetch_add(1, memory_order_relaxed));
}

// Through a lane's end, which knows what stands around a file's records and how it is packed.
SealedBatch LostBatches::letter_of(LaneId worker, const EncodedChunk& chunk, const DeadLetter& letter) {
  OneBatch caught;
  LaneSink::Options ends = options_.ends;
  ends.lane = worker;
  ends.partition = chunk.partition;
  ends.first_sequence = letters_.fetch_add(1, memory_order_relaxed);
  ends.waker = {};
  ends.budget = nullptr;  // its memory is that of the batch, counted as 'files given up' in memory_bound
  LaneSink end(std::move(ends), caught);
  PayloadBatch of;
  of.partition = chunk.partition;
  of.origin = chunk.origin;
  end.begin_batch(of);
  RecordMeta meta;
  meta.partition = chunk.partition;
  meta.offset = chunk.first_offset;
  meta.timestamp = chunk.first_timestamp;
  meta.origin = chunk.origin.get();
  DeadLetterFormat format(options_.spec);
  format.append(letter, meta, end.begin_record(meta));
  end.end_record(meta, AckRef());
  end.seal(SealReason::drain);
  SealedBatch sealed = std::move(caught.sealed);
  sealed.chunk.last_offset = chunk.last_offset;
  sealed.chunk.records = chunk.records;
  sealed.chunk.opened = chunk.opened;
  sealed.chunk.opened_unix = chunk.opened_unix;
  return sealed;
}

Result<void> LostBatches::keep(LaneId worker, SealedBatch& batch, AckSet& acks, const Error& error,
                               std::string_view sink, const DrainGate& gate) {
  MILLRACE_ASSIGN(const std::string_view body, batch.body());
  const LostBatch lost{batch.chunk.last_offset, batch.chunk.records, sink};
  SealedBatch letter =
      letter_of(worker, batch.chunk,
                {.stage = "write", .reason = error.code(), .error = error.message(), .payload = body, .batch = &lost});
  letter.chunk.acks = std::move(acks);
  for (;;) {
    const EventCount::Ticket ticket = room_->ticket();
    if (options_.queue->try_push(letter)) return {};
    if (gate.given_up() || options_.gate->given_up()) break;
    room_->wait_until(ticket, *options_.clock, options_.clock->now() + kLook);
  }
  options_.queue->withdraw(worker);
  acks = std::move(letter.chunk.acks);
  return fail(
      Error::fatal(ErrorCode::deadline,
                   "the sink of the dead letters had no room by the drain deadline (pipeline.drain_timeout); it "
                   "was given up because of: " +
                       error.message()));
}

}  // namespace millrace
