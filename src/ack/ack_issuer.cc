// SPDX-License-Identifier: Apache-2.0
#include "millrace/ack/ack_issuer.h"

namespace millrace {

PartitionLedger* AckIssuer::find(PartitionId partition) {
  if (!queue_) return nullptr;
  const std::uint64_t generation = queue_->generation_.load(memory_order_acquire);
  if (generation != cached_generation_) {
    cached_.clear();
    cached_generation_ = generation;
  }
  for (const auto& ledger : cached_) {
    if (ledger->partition == partition) return ledger.get();
  }
  auto ledger = queue_->ledger(partition);
  return ledger ? cached_.emplace_back(std::move(ledger)).get() : nullptr;
}

AckRef AckIssuer::issue_from(PartitionLedger& ledger, Offset last) {
  AckNode* node = queue_->take_node();
  node->references.store(1, memory_order_relaxed);
  node->failed.store(false, memory_order_relaxed);
  node->put_off.store(false, memory_order_relaxed);
  node->partition = ledger.partition;
  node->epoch = ledger.epoch;
  node->seq = BatchSeq(ledger.issued.fetch_add(1, memory_order_acq_rel));
  node->last_offset = last;
  node->queue = queue_.get();
  return AckRef(node);
}

AckRef AckIssuer::issue(PartitionId partition, Offset last) {
  PartitionLedger* ledger = find(partition);
  return ledger == nullptr ? AckRef() : issue_from(*ledger, last);
}

AckRef AckIssuer::split(AckRef& whole, Offset upto) {
  AckNode* node = whole.node_;
  if (node == nullptr) return {};
  MILLRACE_CHECK(upto < node->last_offset, "a batch is split before its last offset");
  PartitionLedger* ledger = find(node->partition);
  if (ledger == nullptr || ledger->epoch != node->epoch) return {};  // a stale batch: both halves are inert
  AckRef rest = issue_from(*ledger, node->last_offset);
  if (rest.node_->seq.value() != node->seq.value() + 1) {
    // A batch was issued behind this one already, so no number is left for the rest: all of it fails, INV-1.
    rest.fail();
    whole.fail();
    return {};
  }
  // Read only after the last reference is gone, which this holder's release orders behind the write.
  node->last_offset = upto;
  return rest;
}

std::uint64_t AckIssuer::pending(PartitionId partition) {
  const PartitionLedger* ledger = find(partition);
  return ledger == nullptr ? 0 : ledger->pending();
}

BatchSeq AckIssuer::next_to_settle(PartitionId partition) {
  const PartitionLedger* ledger = find(partition);
  return BatchSeq(ledger == nullptr ? 0 : ledger->settled.load(memory_order_acquire));
}

}  // namespace millrace
