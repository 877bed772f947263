// SPDX-License-Identifier: Apache-2.0
#include "millrace/ack/ack_issuer.h"

namespace millrace {
namespace {

constexpr std::size_t kNodesPerSlab = 256;

}  // namespace

std::shared_ptr<AckQueue> AckQueue::make(Waker on_resolution) {
  return {new AckQueue(std::move(on_resolution)), [](AckQueue* queue) { queue->release_life(); }};
}

void AckQueue::release_life() noexcept {
  if (lives_.fetch_sub(1, memory_order_acq_rel) == 1) delete this;
}

Epoch AckQueue::begin_epoch(std::span<const PartitionId> partitions) {
  const MutexLock lock(mutex_);
  epoch_ = Epoch(epoch_.value() + 1);
  ledgers_.clear();
  for (const PartitionId partition : partitions) {
    auto ledger = std::make_shared<PartitionLedger>();
    ledger->partition = partition;
    ledger->epoch = epoch_;
    const bool fresh = ledgers_.emplace(partition, std::move(ledger)).second;
    MILLRACE_CHECK(fresh, "an assignment names a partition twice");
  }
  generation_.fetch_add(1, memory_order_release);
  return epoch_;
}

void AckQueue::revoke(std::span<const PartitionId> partitions) {
  const MutexLock lock(mutex_);
  for (const PartitionId partition : partitions) ledgers_.erase(partition);
  generation_.fetch_add(1, memory_order_release);
}

std::shared_ptr<PartitionLedger> AckQueue::ledger(PartitionId partition) const {
  const MutexLock lock(mutex_);
  const auto found = ledgers_.find(partition);
  return found == ledgers_.end() ? nullptr : found->second;
}

Epoch AckQueue::epoch() const {
  const MutexLock lock(mutex_);
  return epoch_;
}

AckNode* AckQueue::take_node() {
  lives_.fetch_add(1, memory_order_relaxed);
  const MutexLock lock(mutex_);
  if (free_.empty()) {
    AckNode* slab = slabs_.emplace_back(std::make_unique<AckNode[]>(kNodesPerSlab)).get();
    for (std::size_t i = kNodesPerSlab; i > 0; --i) free_.push_back(slab + i - 1);
  }
  AckNode* node = free_.back();
  free_.pop_back();
  return node;
}

void AckQueue::resolve(AckNode* node) noexcept {
  AckNode* head = resolved_.load(memory_order_relaxed);
  do {
    node->next = head;
  } while (!resolved_.compare_exchange_weak(head, node, memory_order_release, memory_order_relaxed));
  if (head == nullptr) on_resolution_.wake();
  release_life();
}

void AckQueue::drain(std::vector<Resolution>& out) {
  AckNode* node = resolved_.exchange(nullptr, memory_order_acquire);
  if (node == nullptr) return;
  const MutexLock lock(mutex_);
  while (node != nullptr) {
    AckNode* next = node->next;
    const AckStatus status = node->failed.load(memory_order_relaxed)    ? AckStatus::failed
                             : node->put_off.load(memory_order_relaxed) ? AckStatus::put_off
                                                                        : AckStatus::delivered;
    out.push_back({node->partition, node->epoch, node->seq, node->last_offset, status});
    free_.push_back(node);
    node = next;
  }
}

void AckRef::release() noexcept {
  AckNode* node = std::exchange(node_, nullptr);
  // The last holder must see every fail() and every split() that came before the other holders let go.
  if (node != nullptr && node->references.fetch_sub(1, memory_order_acq_rel) == 1) node->queue->resolve(node);
}

}  // namespace millrace
