// SPDX-License-Identifier: Apache-2.0
#include "connectors/kafka/position_ledger.h"

#include <algorithm>
#include <utility>

namespace millrace::kafka {

void PositionLedger::own(PartitionId id, StoredPosition position) {
  const Watermark at = position.at;
  entries_.insert_or_assign(id, Entry{std::move(position), at, {}, {}});
}

void PositionLedger::disown(PartitionId id) { entries_.erase(id); }

void PositionLedger::settle(std::span<const PartitionWatermark> watermarks) {
  for (const PartitionWatermark& one : watermarks) {
    const auto found = entries_.find(one.partition);
    if (found != entries_.end()) found->second.settled = std::max(found->second.settled, one.watermark);
  }
}

std::vector<StoredPosition> PositionLedger::due(SteadyTime now) const {
  std::vector<StoredPosition> moved;
  for (const auto& [id, entry] : entries_) {
    if (entry.due(now)) moved.push_back({entry.position.partition, entry.settled, entry.position.mark});
  }
  return moved;
}

bool PositionLedger::anything_due(SteadyTime now) const {
  return std::ranges::any_of(entries_, [now](const auto& one) { return one.second.due(now); });
}

void PositionLedger::stored(const Partition& partition, Watermark at) {
  Entry* const entry = find(partition);
  if (entry == nullptr) return;
  entry->position.at = at;
  entry->refusal.reset();
}

bool PositionLedger::refused(const Partition& partition, Error error, SteadyTime again) {
  Entry* const entry = find(partition);
  if (entry == nullptr) return false;
  entry->again = again;
  return !std::exchange(entry->refusal, std::move(error));
}

void PositionLedger::try_refused() {
  for (auto& [id, entry] : entries_) entry.again = SteadyTime{};
}

std::optional<Error> PositionLedger::refusal() const {
  const auto found = std::ranges::find_if(entries_, [](const auto& one) { return one.second.refusal.has_value(); });
  return found == entries_.end() ? std::nullopt : found->second.refusal;
}

std::optional<Watermark> PositionLedger::settled(PartitionId id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? std::nullopt : std::optional(found->second.settled);
}

std::optional<Watermark> PositionLedger::stored(PartitionId id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? std::nullopt : std::optional(found->second.position.at);
}

PositionLedger::Entry* PositionLedger::find(const Partition& partition) {
  const auto found =
      std::ranges::find_if(entries_, [&](const auto& one) { return one.second.position.partition == partition; });
  return found == entries_.end() ? nullptr : &found->second;
}

}  // namespace millrace::kafka
