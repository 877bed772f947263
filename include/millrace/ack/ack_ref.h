// SPDX-License-Identifier: Apache-2.0
// AckRef: one batch's claim on its partition's watermark. Copies share the batch; when the last copy goes, the batch
// resolves, once, with the worst status any holder gave (INV-1). Any thread may hold, copy, move and drop one; dropping
// never waits (INV-3).
#pragma once

#include <utility>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/sync.h"

#pragma GCC visibility push(default)
namespace millrace {

class AckQueue;

/// What a batch node is made of. Owned by its AckQueue; recycled after its resolution has been read.
struct AckNode {
  Atomic<std::uint32_t> references{0};
  Atomic<bool> failed{false};
  Atomic<bool> put_off{false};
  PartitionId partition;
  Epoch epoch;
  BatchSeq seq;
  Offset last_offset;
  AckQueue* queue = nullptr;
  AckNode* next = nullptr;  ///< intrusive link of the queue or of the free list
};

class AckRef {
 public:
  /// Holds nothing; dropping it means nothing.
  AckRef() = default;
  AckRef(const AckRef& other) noexcept : node_(other.node_) {
    if (node_ != nullptr) node_->references.fetch_add(1, memory_order_relaxed);
  }
  AckRef(AckRef&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  AckRef& operator=(AckRef other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  /// A lone reference that dies without fail() counts as delivered.
  ~AckRef() { release(); }

  /// The batch will resolve as failed, whatever other holders say. Keeps the reference.
  void fail() noexcept {
    if (node_ != nullptr) node_->failed.store(true, memory_order_relaxed);
  }
  /// The batch will resolve as put off, unless a holder says that it failed. Keeps the reference.
  void put_off() noexcept {
    if (node_ != nullptr) node_->put_off.store(true, memory_order_relaxed);
  }
  void reset() noexcept { release(); }
  explicit operator bool() const noexcept { return node_ != nullptr; }
  [[nodiscard]] bool same_batch(const AckRef& other) const noexcept { return node_ == other.node_; }
  /// The last offset this batch answers for. Requires a held batch; only the lane that issued it may ask.
  [[nodiscard]] Offset last_offset() const noexcept { return node_->last_offset; }
  /// Whose watermark it moves, and its place there. Requires a held batch.
  [[nodiscard]] PartitionId partition() const noexcept { return node_->partition; }
  [[nodiscard]] BatchSeq seq() const noexcept { return node_->seq; }

 private:
  friend class AckIssuer;
  explicit AckRef(AckNode* node) noexcept : node_(node) {}
  void release() noexcept;
  AckNode* node_ = nullptr;
};

/// The batches that one sealed chunk answers for. Unlike a lone AckRef it must be told: a set that dies without
/// deliver() fails its batches, since bytes that vanish on the way were not delivered. One owner at a time.
class AckSet {
 public:
  AckSet() = default;
  AckSet(AckSet&&) noexcept = default;
  AckSet& operator=(AckSet&& other) noexcept {
    fail();
    references_ = std::move(other.references_);
    other.references_.clear();
    return *this;
  }
  ~AckSet() { fail(); }

  /// Takes at most one reference per batch, as batches of one lane come in order.
  void add(const AckRef& ack) {
    if (ack && (references_.empty() || !references_.back().same_batch(ack))) references_.push_back(ack);
  }
  /// Everything in the set is durable.
  void deliver() noexcept { references_.clear(); }
  void fail() noexcept {
    for (AckRef& ack : references_) ack.fail();
    references_.clear();
  }
  /// Nothing of it is written, on purpose: the next run reads it again.
  void put_off() noexcept {
    for (AckRef& ack : references_) ack.put_off();
    references_.clear();
  }
  [[nodiscard]] std::size_t size() const noexcept { return references_.size(); }
  [[nodiscard]] bool empty() const noexcept { return references_.empty(); }
  /// The batch that was added first; null when there is none.
  [[nodiscard]] const AckRef* oldest() const noexcept { return references_.empty() ? nullptr : &references_.front(); }

 private:
  std::vector<AckRef> references_;
};

}  // namespace millrace
#pragma GCC visibility pop
