// SPDX-License-Identifier: Apache-2.0
#include "millrace/testing/memory_topic.h"

#include <algorithm>
#include <utility>

namespace millrace::testing {

MemoryTopic::MemoryTopic(std::uint32_t partitions) : partitions_(partitions) {}

void MemoryTopic::append(PartitionId partition, std::string payload) {
  const MutexLock lock(mutex_);
  Partition& to = partitions_.at(partition.value());
  to.payloads.push_back(std::move(payload));
  for (const Waker& waker : to.wakers) waker.wake();
  appended_.notify_all();
}

void MemoryTopic::end() {
  const MutexLock lock(mutex_);
  ended_ = true;
  for (const Partition& partition : partitions_) {
    for (const Waker& waker : partition.wakers) waker.wake();
  }
  appended_.notify_all();
}

std::vector<PartitionId> MemoryTopic::partitions() const {
  const MutexLock lock(mutex_);
  std::vector<PartitionId> ids;
  for (std::uint32_t i = 0; i < partitions_.size(); ++i) ids.emplace_back(i);
  return ids;
}

std::size_t MemoryTopic::size(PartitionId partition) const {
  const MutexLock lock(mutex_);
  return partitions_.at(partition.value()).payloads.size();
}

Offset MemoryTopic::position(PartitionId partition) const {
  const MutexLock lock(mutex_);
  return Offset(partitions_.at(partition.value()).committed.value_or(Watermark(0)).value());
}

std::map<PartitionId, Watermark> MemoryTopic::committed() const {
  const MutexLock lock(mutex_);
  std::map<PartitionId, Watermark> committed;
  for (std::uint32_t i = 0; i < partitions_.size(); ++i) {
    if (partitions_[i].committed) committed[PartitionId(i)] = *partitions_[i].committed;
  }
  return committed;
}

std::vector<std::vector<PartitionWatermark>> MemoryTopic::commits() const {
  const MutexLock lock(mutex_);
  return commits_;
}

std::size_t MemoryTopic::flushes() const {
  const MutexLock lock(mutex_);
  return flushes_;
}

void MemoryTopic::audit(std::function<void(const std::vector<PartitionWatermark>&)> auditor) {
  const MutexLock lock(mutex_);
  auditor_ = std::move(auditor);
}

void MemoryTopic::fail_commits(std::vector<Error> errors) {
  const MutexLock lock(mutex_);
  for (Error& error : errors) commit_errors_.push_back(std::move(error));
}

void MemoryTopic::fail_flushes(std::vector<Error> errors) {
  const MutexLock lock(mutex_);
  for (Error& error : errors) flush_errors_.push_back(std::move(error));
}

MemoryTopic::Read MemoryTopic::read(PartitionId partition, Offset from, std::size_t max, Clock& clock,
                                    SteadyTime deadline) {
  const MutexLock lock(mutex_);
  const std::vector<std::string>& payloads = partitions_.at(partition.value()).payloads;
  const auto begin = static_cast<std::size_t>(from.value());
  while (payloads.size() <= begin && !ended_ && clock.now() < deadline) clock.wait_until(appended_, mutex_, deadline);
  Read read;
  for (std::size_t i = begin; i < payloads.size() && read.payloads.size() < max; ++i) {
    read.payloads.push_back(payloads[i]);
  }
  read.ended = read.payloads.empty() && ended_;
  return read;
}

void MemoryTopic::wake_on_append(PartitionId partition, Waker waker) {
  const MutexLock lock(mutex_);
  partitions_.at(partition.value()).wakers.push_back(std::move(waker));
}

Result<void> MemoryTopic::commit(std::vector<PartitionWatermark> watermarks) {
  const MutexLock lock(mutex_);
  if (auditor_) auditor_(watermarks);
  if (!commit_errors_.empty()) {
    Error error = std::move(commit_errors_.front());
    commit_errors_.pop_front();
    return fail(std::move(error));
  }
  for (const PartitionWatermark& one : watermarks) {
    auto& committed = partitions_.at(one.partition.value()).committed;
    if (committed && one.watermark < *committed) {
      return fail(Error::fatal(ErrorCode::rule_broken, "a watermark went backwards"));
    }
    committed = one.watermark;
  }
  commits_.push_back(std::move(watermarks));
  return {};
}

Result<void> MemoryTopic::flush() {
  const MutexLock lock(mutex_);
  if (!flush_errors_.empty()) {
    Error error = std::move(flush_errors_.front());
    flush_errors_.pop_front();
    return fail(std::move(error));
  }
  ++flushes_;
  return {};
}

}  // namespace millrace::testing
