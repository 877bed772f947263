// SPDX-License-Identifier: Apache-2.0
// InflightBudget: how many bytes of sealed batches may wait or be written, over all sinks of a run (INV-7). Shared by
// their queues; thread-safe. Never waits: who is refused is woken when there is room again.
//
// Why it always makes progress: a sink that has nothing in flight takes its next batch whatever the others hold, so
// that a sink that hangs does not stop the others. Within a sink, and as long as there is room for all, the first who
// was refused holds a claim, so that smaller batches cannot keep its room from it for ever. A claim ends when its batch
// is taken or withdrawn. Hence the bound: the limit, and one batch for each sink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/sync.h"

namespace millrace {

class InflightBudget {
 public:
  explicit InflightBudget(std::size_t limit) : limit_(limit) {}

  /// Who asks: a lane offers the batches of one sink in order, so lane and sink name one batch at a time.
  struct Claimant {
    LaneId lane;
    const void* sink = nullptr;
    friend bool operator==(const Claimant&, const Claimant&) = default;
  };
  [[nodiscard]] bool try_take(std::size_t bytes, Claimant claimant);
  /// Of a batch of `sink` that was taken.
  void give_back(std::size_t bytes, const void* sink);
  void withdraw(Claimant claimant);
  /// `waker` is woken when someone was refused and there is room again. Stays for the budget's life.
  void wake_when_room(Waker waker);

  [[nodiscard]] std::size_t used() const noexcept { return used_.load(memory_order_relaxed); }
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::uint64_t refusals() const noexcept { return refusals_.load(memory_order_relaxed); }

 private:
  struct Claim {
    Claimant claimant;
    std::size_t bytes = 0;
  };
  [[nodiscard]] bool fits(std::size_t bytes, const Claimant& claimant) const MILLRACE_REQUIRES(mutex_);
  [[nodiscard]] std::size_t& in_flight(const void* sink) MILLRACE_REQUIRES(mutex_);
  [[nodiscard]] bool idle(const void* sink) const MILLRACE_REQUIRES(mutex_);
  void wake_refused() MILLRACE_REQUIRES(mutex_);

  const std::size_t limit_;
  Mutex mutex_;
  Atomic<std::size_t> used_{0};  ///< written under the mutex, read by anyone
  Atomic<std::uint64_t> refusals_{0};
  std::vector<std::pair<const void*, std::size_t>> in_flight_ MILLRACE_GUARDED_BY(mutex_);  ///< batches, by sink
  std::optional<Claim> claim_ MILLRACE_GUARDED_BY(mutex_);
  bool someone_refused_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::vector<Waker> wakers_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace
