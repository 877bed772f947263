// SPDX-License-Identifier: Apache-2.0
// Writer: makes one sealed batch durable. The only part of a sink that touches the outside; everything around it
// (retry, backoff, concurrency, deadlines, acks) is the engine's. One writer per I/O thread; calls on it never overlap.
#pragma once

#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/sink/recall.h"
#include "millrace/sink/sealed_batch.h"

#pragma GCC visibility push(default)
namespace millrace {

class Writer {
 public:
  virtual ~Writer() = default;
  /// Success means durable: no crash of this process or machine takes the batch back. A retryable error is tried again
  /// with the same batch and token; any other class ends the tries. One call is one try.
  [[nodiscard]] virtual Result<Receipt> write(SealedBatch& batch) = 0;
  /// What the destination holds of `partition` already, which this writer will be given the batches of. `from`: the
  /// first record that comes; what lies before it is committed. `origin`: of its batch; may be null. Asked where
  /// SinkTraits::recalls says so, before the first batch, and again when the partition has been elsewhere meanwhile;
  /// tried again as a write is.
  [[nodiscard]] virtual Result<Recall> recall(PartitionId /*partition*/, Offset /*from*/, const Origin* /*origin*/) {
    return Recall();
  }
  /// `batch`, whose tries all failed and ended with `error`, is given up on the operator's word (on_failure: drop).
  /// Leaves a note of it where the batch would be, if it can; tried again like a write. Called on no other occasion.
  [[nodiscard]] virtual Result<void> lost(SealedBatch& /*batch*/, const Error& /*error*/) { return {}; }
  /// No more batches come. Releases what is held, by `deadline`.
  [[nodiscard]] virtual Result<void> close(SteadyTime /*deadline*/) { return {}; }
  /// Any thread: a write under way should end soon with code cancelled; the drain deadline has passed.
  virtual void cancel() {}
};

}  // namespace millrace
#pragma GCC visibility pop
