// SPDX-License-Identifier: Apache-2.0
// Ledger: what became of each source record, and where it went, by offset, until the watermark has passed it. What the
// watermark says is settled, the ledger says how; a source that keeps receipts asks it at each commit. Thread-safe:
// lanes and I/O threads add, once a batch; the control thread takes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/error.h"
#include "millrace/base/ids.h"
#include "millrace/base/sync.h"

#pragma GCC visibility push(default)
namespace millrace {

/// What became of a number of source records; each has one fate: in = out + filtered + skipped + dead-lettered.
struct RecordFates {
  using ByReason = std::vector<std::pair<ErrorCode, std::uint64_t>>;

  std::uint64_t in = 0;
  std::uint64_t out = 0;       ///< at least one encoded record of it reached a sink
  std::uint64_t filtered = 0;  ///< dropped on purpose, nothing of it reached a sink
  ByReason skipped;            ///< rejected, in whole or in part, and kept nowhere
  ByReason dead_lettered;      ///< rejected, in whole or in part, and kept whole in the dead letters
  std::uint64_t encoded = 0;   ///< records that reached sinks, over all of them; one source record may become several

  void skip(ErrorCode reason, std::uint64_t records = 1) { add(skipped, reason, records); }
  void dead_letter(ErrorCode reason, std::uint64_t records = 1) { add(dead_lettered, reason, records); }
  RecordFates& operator+=(const RecordFates& other);
  friend bool operator==(const RecordFates&, const RecordFates&) = default;

  static void add(ByReason& counts, ErrorCode reason, std::uint64_t records);
};

/// The source records from `first` to `last` of one partition.
struct RecordAccount {
  Offset first;
  Offset last;
  RecordFates fates;
};

/// A durable batch: encoded records of source records between `first` and `last`.
struct Landing {
  Offset first;
  Offset last;
  std::uint64_t records = 0;
  std::string sink;      ///< its name in the pipeline
  std::string location;  ///< as its writer calls it; empty when it has no name
  bool dropped = false;  ///< given up on the operator's word (on_failure: drop); nothing was written
};

class Ledger {
 public:
  /// Before the ack of these records can settle. Offsets of a partition only go up.
  void add(PartitionId partition, RecordAccount account);
  /// Before the acks of the batch are let go.
  void land(PartitionId partition, Landing landing);

  struct Settled {
    std::vector<RecordAccount> accounts;  ///< in the order of their offsets
    std::vector<Landing> landings;
  };
  /// Takes out the accounts that end before `watermark`, which rests at the end of one, and the landings that begin
  /// before it: a batch may be durable while its last records belong to something that is not settled yet.
  [[nodiscard]] Settled take(PartitionId partition, Watermark watermark);
  /// The partition is read again from its committed position, or by somebody else: what is not settled is void.
  void forget(PartitionId partition);

 private:
  Mutex mutex_;
  std::map<PartitionId, Settled> open_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace
#pragma GCC visibility pop
