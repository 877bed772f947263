// SPDX-License-Identifier: Apache-2.0
// LostBatches: where a sink's batches go that it gives up (on_failure: drop), when there are dead letters: each becomes
// one letter, which takes the batch's acks along, so the position moves past it only when the letter is durable. Used
// by the I/O workers of every sink; thread-safe. They may wait here, for room in the letters' queue.
#pragma once

#include <memory>
#include <string_view>

#include "millrace/ack/ack_ref.h"
#include "millrace/base/error.h"
#include "millrace/encode/dead_letter.h"
#include "millrace/sink/lane_sink.h"
#include "pipeline/drain_gate.h"
#include "sink/sink_queue.h"

namespace millrace {

class LostBatches {
 public:
  struct Options {
    std::shared_ptr<void> keep_alive;  ///< of what follows
    SinkQueue* queue = nullptr;        ///< of the letters' sink
    const DrainGate* gate = nullptr;   ///< of the letters' sink
    LaneSink::Options ends;            ///< how a lane's end of that sink is made
    EncodeSpec spec;                   ///< as it writes letters
    Clock* clock = &Clock::real();
  };
  explicit LostBatches(Options options);

  /// One for each worker that gives batches up: it names what the worker offers.
  [[nodiscard]] LaneId new_worker();
  /// Hands `batch` over with its acks, which stay where they are on failure: its bytes cannot be read back, or there is
  /// no time left (deadline). `gate`: of the sink that gives it up.
  [[nodiscard]] Result<void> keep(LaneId worker, SealedBatch& batch, AckSet& acks, const Error& error,
                                  std::string_view sink, const DrainGate& gate);

 private:
  [[nodiscard]] SealedBatch letter_of(LaneId worker, const EncodedChunk& chunk, const DeadLetter& letter);

  const Options options_;
  const std::shared_ptr<EventCount> room_;
  Atomic<std::uint32_t> workers_{0};
  Atomic<std::uint64_t> letters_{0};
};

}  // namespace millrace
