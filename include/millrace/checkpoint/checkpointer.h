// SPDX-License-Identifier: Apache-2.0
// Checkpointer: turns resolutions into watermarks. Per partition and epoch it keeps which outstanding batches resolved;
// the contiguous delivered prefix gives the watermark, one past its last offset (INV-1). A failed batch blocks
// everything behind it for good, one that was put off until the next run. Pure and synchronous: no thread, no clock, no
// I/O; owned by the control thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "millrace/ack/ack_issuer.h"

#pragma GCC visibility push(default)
namespace millrace {

class Checkpointer {
 public:
  explicit Checkpointer(Waker on_resolution = {});
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// What a source receives at open.
  [[nodiscard]] AckIssuer issuer() const;

  /// Starts an epoch over exactly `partitions`; every tracker is replaced.
  Epoch begin_epoch(std::span<const PartitionId> partitions);
  /// Takes `partitions` out of the epoch; their outstanding batches no longer count.
  void revoke(std::span<const PartitionId> partitions);

  struct Drained {
    std::uint64_t applied = 0;  ///< resolutions of the present epoch
    std::uint64_t stale = 0;    ///< of earlier epochs or revoked partitions: counted, inert (INV-5)
    std::uint64_t failed = 0;   ///< of `applied`, those that failed
  };
  /// Reads what has resolved and advances the watermarks.
  Drained drain();

  /// The watermarks that moved since they were last taken, each as far as it is settled.
  [[nodiscard]] std::vector<PartitionWatermark> take_watermarks();
  /// Puts back watermarks whose commit failed; merged by maximum, taken again next time.
  void put_back(std::span<const PartitionWatermark> watermarks);

  /// Batches issued and not yet behind the watermark, over all partitions or one. Behind a batch that was put off only
  /// those count that have not ended.
  [[nodiscard]] std::uint64_t pending() const;
  [[nodiscard]] std::uint64_t pending(PartitionId partition) const;
  /// True when a failed batch blocks the partition (or any).
  [[nodiscard]] bool blocked() const;
  [[nodiscard]] bool blocked(PartitionId partition) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace millrace
#pragma GCC visibility pop
