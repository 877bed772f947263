// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/positions.h"

#include <algorithm>
#include <utility>

namespace millrace::iggy_source {

void Positions::own(PartitionId id, Watermark begin, std::optional<Watermark> stored) {
  const MutexLock lock(mutex_);
  // Where it begins is settled: what lies before is, or was passed over on purpose. It is stored when it moves, or at
  // once by who looked it up.
  entries_[id] = {begin, stored ? stored : begin, true};
}

void Positions::disown_all() {
  const MutexLock lock(mutex_);
  for (auto& [id, entry] : entries_) entry.owned = false;
  error_.reset();
  changed_.notify_all();
}

void Positions::settle(std::span<const PartitionWatermark> watermarks) {
  const MutexLock lock(mutex_);
  for (const PartitionWatermark& one : watermarks) {
    const auto found = entries_.find(one.partition);
    if (found != entries_.end() && found->second.owned) found->second.settled = one.watermark;
  }
  error_.reset();
}

Result<void> Positions::wait_until_stored(Clock& clock, SteadyTime deadline) {
  const MutexLock lock(mutex_);
  const auto waits = [](const auto& entry) { return entry.second.waits(); };
  while (std::ranges::any_of(entries_, waits)) {
    if (clock.now() >= deadline) {
      if (error_) return fail(*error_);
      return fail(Error::retryable(ErrorCode::deadline,
                                   "the last offsets were not stored at the Iggy server in time; "
                                   "who reads these partitions next reads some records again"));
    }
    clock.wait_until(changed_, mutex_, deadline);
  }
  return {};
}

std::optional<Watermark> Positions::stored(PartitionId id) const {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  return found == entries_.end() ? std::nullopt : found->second.stored;
}

std::optional<Watermark> Positions::settled(PartitionId id) const {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(id);
  return found == entries_.end() ? std::nullopt : std::optional(found->second.settled);
}

std::vector<PartitionWatermark> Positions::to_store() const {
  const MutexLock lock(mutex_);
  std::vector<PartitionWatermark> all;
  for (const auto& [id, entry] : entries_) {
    if (entry.waits()) all.push_back({id, entry.settled});
  }
  return all;
}

void Positions::stored(PartitionWatermark position) {
  const MutexLock lock(mutex_);
  entries_[position.partition].stored = position.watermark;
  error_.reset();
  changed_.notify_all();
}

void Positions::drop(PartitionId id) {
  const MutexLock lock(mutex_);
  entries_[id].owned = false;
  changed_.notify_all();
}

void Positions::forget(PartitionId id) {
  const MutexLock lock(mutex_);
  entries_.erase(id);
  changed_.notify_all();
}

void Positions::store_failed(Error error) {
  const MutexLock lock(mutex_);
  error_ = std::move(error);
}

}  // namespace millrace::iggy_source
