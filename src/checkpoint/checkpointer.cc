// SPDX-License-Identifier: Apache-2.0
#include "millrace/checkpoint/checkpointer.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "checkpoint/tracker.h"

namespace millrace {

struct Checkpointer::State {
  struct Partition {
    std::shared_ptr<PartitionLedger> ledger;
    Tracker tracker;
    std::optional<Watermark> to_take;  ///< moved since taken, or put back
  };
  std::shared_ptr<AckQueue> queue;
  Epoch epoch;
  /// What rests until the next run is not waited for.
  static std::uint64_t pending(const Partition& of) {
    const std::uint64_t outstanding = of.ledger->pending();
    return of.tracker.resting() ? outstanding - std::min(outstanding, of.tracker.ended_behind()) : outstanding;
  }
  std::unordered_map<PartitionId, Partition> partitions;
  std::vector<Resolution> resolutions;
};

Checkpointer::Checkpointer(Waker on_resolution) : state_(std::make_unique<State>()) {
  state_->queue = AckQueue::make(std::move(on_resolution));
}
Checkpointer::~Checkpointer() = default;

AckIssuer Checkpointer::issuer() const { return AckIssuer(state_->queue); }

Epoch Checkpointer::begin_epoch(std::span<const PartitionId> partitions) {
  state_->epoch = state_->queue->begin_epoch(partitions);
  state_->partitions.clear();
  for (const PartitionId partition : partitions)
    state_->partitions[partition].ledger = state_->queue->ledger(partition);
  return state_->epoch;
}

void Checkpointer::revoke(std::span<const PartitionId> partitions) {
  state_->queue->revoke(partitions);
  for (const PartitionId partition : partitions) state_->partitions.erase(partition);
}

Checkpointer::Drained Checkpointer::drain() {
  Drained drained;
  state_->resolutions.clear();
  state_->queue->drain(state_->resolutions);
  for (const Resolution& resolution : state_->resolutions) {
    const auto found = state_->partitions.find(resolution.partition);
    if (resolution.epoch != state_->epoch || found == state_->partitions.end()) {
      ++drained.stale;
      continue;
    }
    State::Partition& partition = found->second;
    const std::optional<Watermark> before = partition.tracker.watermark();
    const bool first_time = partition.tracker.apply(resolution.seq, resolution.last_offset, resolution.status);
    MILLRACE_CHECK(first_time, "a batch resolves exactly once");
    partition.ledger->settled.store(partition.tracker.settled(), memory_order_release);
    if (const auto now = partition.tracker.watermark(); now != before) {
      partition.to_take = partition.to_take ? std::max(*partition.to_take, *now) : *now;
    }
    ++drained.applied;
    if (resolution.status == AckStatus::failed) ++drained.failed;
  }
  return drained;
}

std::vector<PartitionWatermark> Checkpointer::take_watermarks() {
  std::vector<PartitionWatermark> taken;
  for (auto& [id, partition] : state_->partitions) {
    if (partition.to_take) taken.push_back({id, *std::exchange(partition.to_take, std::nullopt)});
  }
  std::ranges::sort(taken, {}, &PartitionWatermark::partition);
  return taken;
}

void Checkpointer::put_back(std::span<const PartitionWatermark> watermarks) {
  for (const PartitionWatermark& watermark : watermarks) {
    const auto found = state_->partitions.find(watermark.partition);
    if (found == state_->partitions.end()) continue;  // revoked meanwhile: its next owner replays
    auto& to_take = found->second.to_take;
    to_take = to_take ? std::max(*to_take, watermark.watermark) : watermark.watermark;
  }
}

std::uint64_t Checkpointer::pending() const {
  std::uint64_t sum = 0;
  for (const auto& [id, partition] : state_->partitions) sum += State::pending(partition);
  return sum;
}

std::uint64_t Checkpointer::pending(PartitionId partition) const {
  const auto found = state_->partitions.find(partition);
  return found == state_->partitions.end() ? 0 : State::pending(found->second);
}

bool Checkpointer::blocked() const {
  return std::ranges::any_of(state_->partitions, [](const auto& entry) { return entry.second.tracker.blocked(); });
}

bool Checkpointer::blocked(PartitionId partition) const {
  const auto found = state_->partitions.find(partition);
  return found != state_->partitions.end() && found->second.tracker.blocked();
}

}  // namespace millrace
