// SPDX-License-Identifier: Apache-2.0
#include "millrace/ack/ledger.h"

#include <utility>

namespace millrace {
namespace {

// Moves what is settled from `open` to `settled`; the rest keeps its order.
template <class T, class IsSettled>
void move_settled(std::vector<T>& open, IsSettled is_settled, std::vector<T>& settled) {
  std::vector<T> rest;
  for (T& one : open) (is_settled(one) ? settled : rest).push_back(std::move(one));
  open = std::move(rest);
}

}  // namespace

void RecordFates::add(ByReason& counts, ErrorCode reason, std::uint64_t records) {
  for (auto& [code, count] : counts) {
    if (code != reason) continue;
    count += records;
    return;
  }
  counts.emplace_back(reason, records);
}

RecordFates& RecordFates::operator+=(const RecordFates& other) {
  in += other.in;
  out += other.out;
  filtered += other.filtered;
  encoded += other.encoded;
  for (const auto& [code, count] : other.skipped) skip(code, count);
  for (const auto& [code, count] : other.dead_lettered) dead_letter(code, count);
  return *this;
}

void Ledger::add(PartitionId partition, RecordAccount account) {
  const MutexLock lock(mutex_);
  open_[partition].accounts.push_back(std::move(account));
}

void Ledger::land(PartitionId partition, Landing landing) {
  const MutexLock lock(mutex_);
  open_[partition].landings.push_back(std::move(landing));
}

Ledger::Settled Ledger::take(PartitionId partition, Watermark watermark) {
  Settled settled;
  const MutexLock lock(mutex_);
  const auto found = open_.find(partition);
  if (found == open_.end()) return settled;
  const auto ends_before = [&](const RecordAccount& one) { return one.last.value() < watermark.value(); };
  const auto begins_before = [&](const Landing& one) { return one.first.value() < watermark.value(); };
  move_settled(found->second.accounts, ends_before, settled.accounts);
  move_settled(found->second.landings, begins_before, settled.landings);
  return settled;
}

void Ledger::forget(PartitionId partition) {
  const MutexLock lock(mutex_);
  open_.erase(partition);
}

}  // namespace millrace
