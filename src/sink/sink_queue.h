// SPDX-License-Identifier: Apache-2.0
// SinkQueue: sealed batches on their way from the lanes to a sink's I/O workers. Many lanes push, each worker takes its
// own; thread-safe. Bounded by the budget that all sinks share; a push never waits, a take does.
//
// In an ordered queue all batches of a partition go to one worker, so they are written one after the other in the order
// in which the lane sealed them. Otherwise any worker takes the oldest.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "millrace/base/sync.h"
#include "millrace/base/thread_host.h"
#include "millrace/sink/lane_sink.h"
#include "sink/inflight_budget.h"

namespace millrace {

class SinkQueue final : public SealedBatchQueue {
 public:
  struct Options {
    std::size_t workers = 1;
    bool ordered = true;
    /// A written buffer larger than this is freed rather than kept for the next chunk.
    std::size_t keep_capacity = 16U << 20U;
    ThreadHost* host = &ThreadHost::real();  ///< of its workers
  };
  SinkQueue(Options options, std::shared_ptr<InflightBudget> budget);

  [[nodiscard]] bool try_push(SealedBatch& batch) override;
  [[nodiscard]] ByteBuffer take_buffer() override;
  void ask(std::shared_ptr<RecallRequest> request) override;
  void withdraw(LaneId lane) override;
  /// `waker` is woken when a push was refused and there is room again.
  void wake_when_room(Waker waker) { budget_->wake_when_room(std::move(waker)); }

  struct Taken {
    SealedBatch batch;
    PartitionId partition;
    std::size_t cost = 0;                     ///< of the budget, whatever a writer makes of the bytes
    std::shared_ptr<RecallRequest> question;  ///< to be answered; there is no batch then, and nothing to finish
  };
  /// The next batch, or question, for `worker`; waits for one. Nothing once the queue is closed and holds no more for
  /// it. Each batch taken is finish()ed.
  [[nodiscard]] std::optional<Taken> take(std::size_t worker);
  /// The batch is settled, one way or the other: its room is free, its buffer is kept for the next chunk.
  void finish(Taken taken);

  /// No more pushes; what is in the queue is still taken.
  void close();
  /// Takes out and fails what no worker has taken yet, and returns how many batches that were.
  std::size_t discard();

  /// Batches of `partition` pushed and not finished.
  [[nodiscard]] std::size_t in_flight(PartitionId partition) const;
  /// Batches that no worker has taken yet.
  [[nodiscard]] std::size_t depth() const;

 private:
  void settle(PartitionId partition) MILLRACE_REQUIRES(mutex_);

  const Options options_;
  const std::shared_ptr<InflightBudget> budget_;
  mutable Mutex mutex_;
  CondVar pushed_;
  std::vector<std::deque<Taken>> shards_ MILLRACE_GUARDED_BY(mutex_);  ///< one per worker, or one for all
  std::unordered_map<PartitionId, std::size_t> in_flight_ MILLRACE_GUARDED_BY(mutex_);
  std::vector<ByteBuffer> free_ MILLRACE_GUARDED_BY(mutex_);  ///< at most two per worker
  bool closed_ MILLRACE_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace
