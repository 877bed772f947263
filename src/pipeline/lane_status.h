// SPDX-License-Identifier: Apache-2.0
// LaneStatus: what a lane's thread and the control thread tell each other about one lane, as atomics. Shared by the
// two.
#pragma once

#include <cstdint>
#include <limits>

#include "millrace/base/ids.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"

namespace millrace {

enum class LanePhase {
  running,
  failed,     ///< its chain, its poll or a rule failed; what came before is still written
  exhausted,  ///< the source has nothing more for it, and nothing of it is left on the lane's side of the queues
  drained,    ///< it was told to stop, and nothing of it is left on the lane's side of the queues
  removed,    ///< lane, chain and sinks are destroyed
};

struct LaneStatus {
  LaneStatus(LaneId lane, PartitionId of) : id(lane), partition(of) {}
  const LaneId id;
  const PartitionId partition;

  // Written by the lane's thread.
  Atomic<LanePhase> phase{LanePhase::running};
  Atomic<bool> idle{false};  ///< its last poll found nothing
  /// Since when a queue refuses what it has sealed, on the run's clock; kNotBlocked while none does.
  static constexpr Duration::rep kNotBlocked = std::numeric_limits<Duration::rep>::min();
  Atomic<Duration::rep> blocked_since{kNotBlocked};
  /// The oldest batch that one of its open chunks answers for: a watermark that waits for it waits for a seal.
  static constexpr std::uint64_t kNothingOpen = std::numeric_limits<std::uint64_t>::max();
  Atomic<std::uint64_t> oldest_open{kNothingOpen};
  Atomic<std::uint64_t> parked_records{0};  ///< polled, but not yet through the chain

  // Written by both. Only exchange() is used on it, which orders it with the watermark the lane waits for.
  Atomic<bool> at_limit{false};
  // Written by the control thread: the source was told to pause; not polled until it is told to resume.
  Atomic<bool> paused{false};
  // Written by the control thread: the assignment goes on without the lane, which may not know it yet when its poll or
  // its chain took too long. What it still does says nothing about the run.
  Atomic<bool> removed{false};

  [[nodiscard]] bool blocked() const noexcept { return blocked_since.load(memory_order_seq_cst) != kNotBlocked; }
};

}  // namespace millrace
