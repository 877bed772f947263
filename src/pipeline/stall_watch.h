// SPDX-License-Identifier: Apache-2.0
// StallWatch: finds a partition whose watermark does not move although nothing explains it. Explained is: a batch that
// lies in a chunk which is still open (its age and size decide), a write that is being retried (its policy decides) or
// is under way in a sink that times its writes out, and a queue that moves; the last two while batches of the partition
// are in that sink's queue or wait for room in it. Control thread.
#pragma once

#include <optional>
#include <span>

#include "millrace/base/error.h"
#include "millrace/checkpoint/checkpointer.h"
#include "pipeline/live_lanes.h"
#include "pipeline/sink_pool.h"

namespace millrace {

class StallWatch {
 public:
  StallWatch(Checkpointer& checkpointer, std::vector<SinkPool*> sinks, const RunBoard& board, Duration limit)
      : checkpointer_(&checkpointer),
        issuer_(checkpointer.issuer()),
        sinks_(std::move(sinks)),
        board_(&board),
        limit_(limit) {}

  /// The stall that has lasted longer than the limit, if any; a limit of 0 finds none.
  [[nodiscard]] std::optional<Error> look(std::span<LiveLane> lanes, SteadyTime now);
  /// At the last look the watermark of a partition waited for a batch that lay in no open chunk.
  [[nodiscard]] bool held_up() const noexcept { return held_up_; }
  /// How long the partition that waits longest has waited, as of the last look.
  [[nodiscard]] Duration longest() const noexcept { return longest_; }

 private:
  [[nodiscard]] bool explained(const LiveLane& lane, std::uint64_t settled, std::uint64_t writes) const;

  Checkpointer* const checkpointer_;
  AckIssuer issuer_;
  const std::vector<SinkPool*> sinks_;
  const RunBoard* const board_;
  const Duration limit_;
  Duration longest_{0};
  bool held_up_ = false;
};

}  // namespace millrace
