// SPDX-License-Identifier: Apache-2.0
#include "sink/sink_queue.h"

#include <utility>

namespace millrace {
namespace {

// What a batch costs beside its bytes, so that batches without bytes (a sink that only counts) are bounded too.
constexpr std::size_t kBatchOverhead = 512;

}  // namespace

SinkQueue::SinkQueue(Options options, std::shared_ptr<InflightBudget> budget)
    : options_(options), budget_(std::move(budget)), shards_(options.ordered ? options.workers : 1) {
  MILLRACE_CHECK(options.workers > 0, "a sink has at least one writer");
}

bool SinkQueue::try_push(SealedBatch& batch) {
  {
    const MutexLock lock(mutex_);
    const std::size_t cost = batch.chunk.bytes.size() + kBatchOverhead;
    if (closed_ || !budget_->try_take(cost, {batch.token.lane, this})) return false;
    const PartitionId partition = batch.chunk.partition;
    ++in_flight_[partition];
    shards_[partition.value() % shards_.size()].push_back(
        {.batch = std::move(batch), .partition = partition, .cost = cost});
  }
  pushed_.notify_all();
  return true;
}

void SinkQueue::ask(std::shared_ptr<RecallRequest> request) {
  {
    const MutexLock lock(mutex_);
    if (closed_) return;
    const PartitionId partition = request->partition;
    shards_[partition.value() % shards_.size()].push_back({.partition = partition, .question = std::move(request)});
  }
  pushed_.notify_all();
}

ByteBuffer SinkQueue::take_buffer() {
  const MutexLock lock(mutex_);
  if (free_.empty()) return {};
  ByteBuffer buffer = std::move(free_.back());
  free_.pop_back();
  return buffer;
}

void SinkQueue::withdraw(LaneId lane) { budget_->withdraw({lane, this}); }

std::optional<SinkQueue::Taken> SinkQueue::take(std::size_t worker) {
  const MutexLock lock(mutex_);
  std::deque<Taken>& shard = shards_[worker % shards_.size()];
  while (shard.empty()) {
    if (closed_) return std::nullopt;
    options_.host->wait(pushed_, mutex_);
  }
  Taken taken = std::move(shard.front());
  shard.pop_front();
  return taken;
}

void SinkQueue::finish(Taken taken) {
  {
    const MutexLock lock(mutex_);
    settle(taken.partition);
    ByteBuffer& buffer = taken.batch.chunk.bytes;
    if (free_.size() < 2 * options_.workers && buffer.capacity() != 0 && buffer.capacity() <= options_.keep_capacity) {
      buffer.clear();
      free_.push_back(std::move(buffer));
    }
  }
  budget_->give_back(taken.cost, this);
}

void SinkQueue::close() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  pushed_.notify_all();
}

std::size_t SinkQueue::discard() {
  std::vector<Taken> discarded;  // their acks fail when this goes, outside the lock
  {
    const MutexLock lock(mutex_);
    for (auto& shard : shards_) {
      for (Taken& taken : shard) {
        if (taken.question) continue;
        settle(taken.partition);
        discarded.push_back(std::move(taken));
      }
      shard.clear();
    }
  }
  for (const Taken& taken : discarded) budget_->give_back(taken.cost, this);
  return discarded.size();
}

std::size_t SinkQueue::in_flight(PartitionId partition) const {
  const MutexLock lock(mutex_);
  const auto found = in_flight_.find(partition);
  return found == in_flight_.end() ? 0 : found->second;
}

std::size_t SinkQueue::depth() const {
  const MutexLock lock(mutex_);
  std::size_t depth = 0;
  for (const auto& shard : shards_) depth += shard.size();
  return depth;
}

void SinkQueue::settle(PartitionId partition) {
  const auto found = in_flight_.find(partition);
  if (found != in_flight_.end() && --found->second == 0) in_flight_.erase(found);
}

}  // namespace millrace
