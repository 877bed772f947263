// SPDX-License-Identifier: Apache-2.0
// SinkLoop: an I/O worker of a sink: take a sealed batch, write it, try again as the policy says, and only then tell
// its acks (INV-1). One per writer, on a thread of its own.
#pragma once

#include <bitset>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "millrace/base/log.h"
#include "millrace/sink/sink.h"
#include "pipeline/drain_gate.h"
#include "pipeline/lost_batches.h"
#include "pipeline/run_board.h"
#include "pipeline/sink_metrics.h"
#include "sink/sink_queue.h"

namespace millrace {

/// What messages call the sink of this name: "sink orders", plain "sink" where it was given none, and "dead_letter".
[[nodiscard]] inline std::string sink_component(const std::string& name) {
  return name == "sink" || name == kDeadLetterSink ? name : "sink " + name;
}

/// How long a sink that takes nothing may go without a line about it.
inline constexpr Duration kTellAgain = std::chrono::seconds(30);

/// What the workers of one sink share with its pool. Shared by all of them, as one may be left behind.
struct SinkShared {
  SinkShared(std::string sink_name, std::shared_ptr<Sink> of, SinkQueue::Options queue_options,
             std::shared_ptr<InflightBudget> budget, Clock& of_clock)
      : name(std::move(sink_name)),
        sink(std::move(of)),
        retry(sink->retry_policy()),
        queue(queue_options, std::move(budget)),
        gate(of_clock),
        clock(&of_clock) {}

  /// Its records are dead letters.
  [[nodiscard]] bool holds_letters() const noexcept { return name == kDeadLetterSink; }

  const std::string name;            ///< "sink orders", as messages call it
  const std::shared_ptr<Sink> sink;  ///< outlives its writers
  const RetryPolicy retry;
  SinkQueue queue;
  DrainGate gate;
  Clock* const clock;
  Random* random = &Random::system();
  std::shared_ptr<RunBoard> board;
  Atomic<std::size_t> writing{0};  ///< calls of a writer under way, close() excepted
  SinkMetrics metrics;
  Logger log;
  std::shared_ptr<LostBatches>
      lost;  ///< where batches go that are given up; null: nowhere. Set before a worker starts.

  /// Around the tries of a write that has failed once and began `since`. The last one to end tells how long writes
  /// have failed.
  void begin_retries(SteadyTime since);
  Duration end_retries();
  struct Failing {
    Duration lasts;  ///< since the first try of the write that failed first
    bool told;       ///< worth a line: the first of its kind in that time, or nothing was told for kTellAgain
  };
  [[nodiscard]] Failing note_failure(ErrorCode kind);

  /// What closing a writer said; the first one stands.
  void note_close(Result<void> closed);
  [[nodiscard]] std::optional<Error> close_error() const;

 private:
  mutable Mutex mutex_;
  std::optional<Error> close_error_ MILLRACE_GUARDED_BY(mutex_);
  std::size_t retrying_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::bitset<kErrorCodes> warned_ MILLRACE_GUARDED_BY(mutex_);
  SteadyTime failing_since_ MILLRACE_GUARDED_BY(mutex_){};
  SteadyTime told_ MILLRACE_GUARDED_BY(mutex_){};
};

class SinkLoop {
 public:
  SinkLoop(std::shared_ptr<SinkShared> shared, std::shared_ptr<Writer> writer, std::size_t index)
      : shared_(std::move(shared)), writer_(std::move(writer)), index_(index) {}

  /// Until the queue is closed and empty; then closes the writer.
  void run();

 private:
  void write_and_settle(SinkQueue::Taken taken);
  void answer(RecallRequest& question);
  [[nodiscard]] Result<Receipt> write(SealedBatch& batch);
  template <class T, class TryOnce>
  [[nodiscard]] Result<T> try_until_done(std::string_view what, TryOnce try_once);
  [[nodiscard]] Result<Receipt> try_once(SealedBatch& batch);
  [[nodiscard]] bool wait_for_next_try(std::string_view what, int tries, Duration delay, const Error& error);
  [[nodiscard]] bool too_late() const;
  [[nodiscard]] bool drops(const Error& error) const;
  void settle(SinkQueue::Taken taken, AckSet acks, const Result<Receipt>& written);
  void note_landing(const EncodedChunk& chunk, std::string location, bool dropped);
  void deliver(SinkQueue::Taken taken, AckSet acks, const Receipt& receipt);
  void drop(SinkQueue::Taken taken, AckSet acks, const Error& error);
  void mark_lost(SealedBatch& batch, const Error& error);
  void give_up_on(PartitionId partition, Error cause);
  void abandon(SinkQueue::Taken taken, AckSet acks);
  void finish(SinkQueue::Taken taken);

  const std::shared_ptr<SinkShared> shared_;
  const std::shared_ptr<Writer> writer_;  ///< shared with the pool, which may cancel()
  const std::size_t index_;
  std::optional<LaneId> as_giver_;          ///< how batches that it gives up are offered; nothing: it gave up none
  std::unordered_set<PartitionId> failed_;  ///< nothing behind a failed batch can be committed, so nothing is written
};

}  // namespace millrace
