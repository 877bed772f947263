// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stall_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "pipeline/metric_buckets.h"

namespace millrace {
namespace {

// The batch that the watermark waits for lies in a chunk that takes more.
bool open(const LiveLane& lane, std::uint64_t settled) {
  return lane.status->oldest_open.load(memory_order_relaxed) == settled;
}

}  // namespace

std::optional<Error> StallWatch::look(std::span<LiveLane> lanes, SteadyTime now) {
  longest_ = Duration::zero();
  held_up_ = false;
  const std::uint64_t writes = board_->batches_written.load(memory_order_relaxed);
  for (LiveLane& lane : lanes) {
    const PartitionId partition = lane.status->partition;
    const std::uint64_t pending = checkpointer_->pending(partition);
    const std::uint64_t settled = issuer_.next_to_settle(partition).value();
    held_up_ |= pending != 0 && !open(lane, settled);
    if (pending == 0 || settled != lane.settled || explained(lane, settled, writes)) {
      lane.settled = settled;
      lane.moved = now;
    }
    lane.writes = writes;
    longest_ = std::max(longest_, now - lane.moved);
    if (limit_ == Duration::zero() || now - lane.moved < limit_) continue;
    return Error::fatal(
        ErrorCode::stalled,
        fmt::format("the watermark of partition {} (lane {}) has not moved for {:.0f}s with {} batches pending, and no "
                    "write is being retried: a writer or a chain does not let go of a batch. "
                    "checkpoint.stalled_fail_after sets how long that may last",
                    partition.value(), lane.status->id.value(), seconds(now - lane.moved), pending));
  }
  return std::nullopt;
}

bool StallWatch::explained(const LiveLane& lane, std::uint64_t settled, std::uint64_t writes) const {
  if (board_->retrying.load(memory_order_acquire) != 0) return true;
  if (open(lane, settled)) return true;
  const auto queued = [&](SinkPool* sink) { return sink->queue().in_flight(lane.status->partition) != 0; };
  const bool in_a_queue = std::ranges::any_of(sinks_, queued);
  const bool waits_for_room = lane.status->blocked() && !in_a_queue;
  const auto writing = [&](SinkPool* sink) { return sink->trusted_write() && (waits_for_room || queued(sink)); };
  if (std::ranges::any_of(sinks_, writing)) return true;
  return writes != lane.writes && (in_a_queue || waits_for_room);
}

}  // namespace millrace
