// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/positions.h"

#include <algorithm>
#include <utility>

namespace millrace::iggy_source {

void Positions::own(PartitionId id, Watermark begin, std::optional<Watermark> stored, std::optional<KnownMessage> known,
                    std::uint64_t yields) {
  const MutexLock lock(mutex_);
  Entry& entry = entries_[id];
  const std::uint64_t now = entry.yields;
  entry = Entry();
  // Where it begins is settled: what lies before is, or was passed over on purpose. Who looked it up has stored it, or
  // could not.
  entry.settled = begin;
  entry.known = known;
  entry.stored = stored;
  entry.was_stored = stored.has_value();
  if (stored != begin) entry.unstorable = begin;
  entry.yields = now;
  entry.begun_yields = yields;
  entry.owned = true;
}

void Positions::disown_all() {
  const MutexLock lock(mutex_);
  for (auto& [id, entry] : entries_) entry.owned = false;
  error_.reset();
  changed_.notify_all();
}

void Positions::settle(PartitionWatermark position, std::optional<KnownMessage> known) {
  const MutexLock lock(mutex_);
  Entry* const entry = find(position.partition);
  if (entry == nullptr || !entry->owned) return;
  entry->settled = position.watermark;
  if (known) entry->known = known;
  error_.reset();
}

Result<void> Positions::wait_until_stored(Clock& clock, SteadyTime deadline) {
  const MutexLock lock(mutex_);
  const auto waits = [](const auto& entry) { return entry.second.waits(); };
  while (std::ranges::any_of(entries_, waits)) {
    if (closed_) return fail(*closed_);
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
  const Entry* const entry = find(id);
  return entry == nullptr ? std::nullopt : entry->stored;
}

std::optional<Watermark> Positions::settled(PartitionId id) const {
  const MutexLock lock(mutex_);
  const Entry* const entry = find(id);
  return entry == nullptr ? std::nullopt : std::optional(entry->settled);
}

std::optional<Kept> Positions::kept(PartitionId id) const {
  const MutexLock lock(mutex_);
  const Entry* const entry = find(id);
  if (entry == nullptr) return std::nullopt;
  return Kept{entry->settled, entry->known, entry->was_stored, entry->yields, entry->yields != entry->begun_yields};
}

std::vector<PartitionWatermark> Positions::to_store() const {
  const MutexLock lock(mutex_);
  std::vector<PartitionWatermark> all;
  for (const auto& [id, entry] : entries_) {
    if (entry.waits() && !entry.refused && !entry.doubted) all.push_back({id, entry.settled});
  }
  return all;
}

void Positions::stored(PartitionWatermark position) {
  const MutexLock lock(mutex_);
  if (Entry* const entry = find(position.partition)) {
    entry->stored = position.watermark;
    entry->was_stored = true;
    entry->refusals = 0;
  }
  error_.reset();
  changed_.notify_all();
}

void Positions::unstorable(PartitionWatermark position) {
  const MutexLock lock(mutex_);
  if (Entry* const entry = find(position.partition)) entry->unstorable = position.watermark;
  changed_.notify_all();
}

bool Positions::refused(PartitionId id) {
  const MutexLock lock(mutex_);
  Entry* const entry = find(id);
  if (entry == nullptr) return false;
  entry->refused = true;
  return ++entry->refusals > 1;
}

std::vector<PartitionWatermark> Positions::assigned(const std::set<PartitionId>& ours) {
  const MutexLock lock(mutex_);
  std::vector<PartitionWatermark> given_up;
  for (auto& [id, entry] : entries_) {
    const bool is_ours = ours.contains(id);
    if (!is_ours) ++entry.yields;
    if (!std::exchange(entry.refused, false) || is_ours || !entry.owned) continue;
    entry.owned = false;
    given_up.push_back({id, entry.settled});
  }
  changed_.notify_all();
  return given_up;
}

void Positions::withdraw(PartitionId id) {
  const MutexLock lock(mutex_);
  if (Entry* const entry = find(id)) entry->owned = false;
  changed_.notify_all();
}

void Positions::forget(PartitionId id) {
  const MutexLock lock(mutex_);
  entries_.erase(id);
  changed_.notify_all();
}

void Positions::doubt_all() {
  const MutexLock lock(mutex_);
  for (auto& [id, entry] : entries_) {
    if (!entry.owned) continue;
    entry.stored.reset();
    entry.doubted = true;
  }
}

std::vector<Positions::Doubt> Positions::doubts() const {
  const MutexLock lock(mutex_);
  std::vector<Doubt> all;
  for (const auto& [id, entry] : entries_) {
    if (entry.owned && entry.doubted) all.push_back({id, entry.known});
  }
  return all;
}

void Positions::trust(PartitionId id) {
  const MutexLock lock(mutex_);
  if (Entry* const entry = find(id)) entry->doubted = false;
}

void Positions::store_failed(Error error) {
  const MutexLock lock(mutex_);
  error_ = std::move(error);
}

void Positions::close(Error error) {
  const MutexLock lock(mutex_);
  closed_ = std::move(error);
  changed_.notify_all();
}

Positions::Entry* Positions::find(PartitionId id) {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

const Positions::Entry* Positions::find(PartitionId id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

}  // namespace millrace::iggy_source
