// SPDX-License-Identifier: Apache-2.0
// AckIssuer: makes one AckRef per batch. A source gets one at open and gives a copy to each lane it builds; each copy
// is used by one thread at a time. Sequence numbers have no gaps, so the checkpointer needs no registration: the
// contiguous prefix of resolved sequence numbers is the watermark.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "millrace/ack/ack_ref.h"
#include "millrace/ack/resolution.h"
#include "millrace/base/check.h"

#pragma GCC visibility push(default)
namespace millrace {

/// How many batches of a partition were issued and how many of those lie in the settled prefix. Shared by the lane that
/// issues and the control thread that settles.
struct PartitionLedger {
  PartitionId partition;
  Epoch epoch;
  Atomic<std::uint64_t> issued{0};
  Atomic<std::uint64_t> settled{0};
  [[nodiscard]] std::uint64_t pending() const noexcept {
    return issued.load(memory_order_acquire) - settled.load(memory_order_acquire);
  }
};

/// Where resolved batches wait for the control thread: an intrusive lock-free list, unbounded and tiny (INV-3). Owns
/// the nodes. Lives until its owners and the last outstanding AckRef are gone.
class AckQueue {
 public:
  /// Shared by the checkpointer and its issuers. `on_resolution` is woken when the list stops being empty.
  static std::shared_ptr<AckQueue> make(Waker on_resolution = {});
  AckQueue(const AckQueue&) = delete;
  AckQueue& operator=(const AckQueue&) = delete;

  /// Control thread: starts an epoch over `partitions`; acks of earlier epochs stay valid objects but move nothing
  /// (INV-5).
  Epoch begin_epoch(std::span<const PartitionId> partitions);
  /// Control thread: `partitions` leave the epoch; what they still resolve is discarded.
  void revoke(std::span<const PartitionId> partitions);
  /// Control thread: appends what resolved since the last call, in no particular order.
  void drain(std::vector<Resolution>& out);
  /// Null when the partition is not in the present epoch. Any thread.
  [[nodiscard]] std::shared_ptr<PartitionLedger> ledger(PartitionId partition) const;
  [[nodiscard]] Epoch epoch() const;

 private:
  friend class AckRef;
  friend class AckIssuer;
  explicit AckQueue(Waker on_resolution) : on_resolution_(std::move(on_resolution)) {}
  ~AckQueue() = default;
  AckNode* take_node();
  void resolve(AckNode* node) noexcept;
  void release_life() noexcept;

  const Waker on_resolution_;
  /// Resolved nodes, newest first: pushed by whoever drops a last reference, taken whole by drain().
  Atomic<AckNode*> resolved_{nullptr};
  /// One for the owners together, one for each unresolved node.
  Atomic<std::uint64_t> lives_{1};
  /// Moves with each begin_epoch and revoke; an issuer whose copy lags looks its ledgers up again.
  Atomic<std::uint64_t> generation_{1};
  mutable Mutex mutex_;
  Epoch epoch_ MILLRACE_GUARDED_BY(mutex_);
  std::unordered_map<PartitionId, std::shared_ptr<PartitionLedger>> ledgers_ MILLRACE_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<AckNode[]>> slabs_ MILLRACE_GUARDED_BY(mutex_);
  std::vector<AckNode*> free_ MILLRACE_GUARDED_BY(mutex_);
};

class AckIssuer {
 public:
  /// Issues nothing; every batch it is asked for is inert.
  AckIssuer() = default;
  explicit AckIssuer(std::shared_ptr<AckQueue> queue) : queue_(std::move(queue)) {}

  /// The handle for the next batch of `partition`, whose last record has offset `last`. Offsets must not go backwards
  /// within a partition. Under an epoch that does not hold the partition the handle is inert.
  [[nodiscard]] AckRef issue(PartitionId partition, Offset last);

  /// Cuts the newest batch of its partition in two: `whole` keeps what lies up to `upto`, the returned handle answers
  /// for the rest. Only the lane that issued `whole`, and only before it issues the next. The engine uses it at a seal
  /// and at a failing record, so that a watermark can rest exactly there.
  [[nodiscard]] AckRef split(AckRef& whole, Offset upto);

  /// Batches of `partition` issued and not yet in the settled prefix; 0 for an unknown partition.
  [[nodiscard]] std::uint64_t pending(PartitionId partition);
  /// The batch of `partition` that its watermark waits for next; meaningless for an unknown partition.
  [[nodiscard]] BatchSeq next_to_settle(PartitionId partition);

 private:
  PartitionLedger* find(PartitionId partition);
  AckRef issue_from(PartitionLedger& ledger, Offset last);
  std::shared_ptr<AckQueue> queue_;
  std::uint64_t cached_generation_ = 0;
  std::vector<std::shared_ptr<PartitionLedger>> cached_;
};

}  // namespace millrace
#pragma GCC visibility pop
