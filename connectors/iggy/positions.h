// SPDX-License-Identifier: Apache-2.0
// Positions: what is settled of each partition and what the server has of it. Between the control thread, which settles
// and waits, and the thread that stores. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "connectors/iggy/known_message.h"
#include "millrace/base/ids.h"
#include "millrace/base/result.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"

namespace millrace::iggy_source {

/// What this process knows of a partition that it has read.
struct Kept {
  Watermark settled;                  ///< one past the last record that it made durable, or where it began
  std::optional<KnownMessage> known;  ///< vouches for those records, if possible for all (KnownMessages::settle)
  bool was_stored = false;            ///< the server has kept an offset of it
  std::uint64_t yields = 0;           ///< how often others were seen to have it
  bool yielded = false;               ///< since it was begun here others had it: what the server keeps is newer
};

class Positions {
 public:
  // The control thread:
  /// A lane of it begins at `begin`, and the server has `stored`. `yields`: of the Kept that this was decided by.
  void own(PartitionId id, Watermark begin, std::optional<Watermark> stored, std::optional<KnownMessage> known,
           std::uint64_t yields);
  /// Nothing more is stored; what was settled is remembered.
  void disown_all();
  /// Of a partition that is not owned, nothing. `known`: a message that vouches for it.
  void settle(PartitionWatermark position, std::optional<KnownMessage> known);
  /// Everything settled is stored, or not ours to store, on success. Fails (retryable) at `deadline` or with what the
  /// latest try failed with by then; fails at once (fatal) when nothing will be stored any more.
  [[nodiscard]] Result<void> wait_until_stored(Clock& clock, SteadyTime deadline);
  [[nodiscard]] std::optional<Watermark> stored(PartitionId id) const;

  // Any thread:
  [[nodiscard]] std::optional<Watermark> settled(PartitionId id) const;
  [[nodiscard]] std::optional<Kept> kept(PartitionId id) const;

  // The storing thread:
  /// What is settled, beyond doubt and not stored.
  [[nodiscard]] std::vector<PartitionWatermark> to_store() const;
  void stored(PartitionWatermark position);
  /// The server cannot keep it, as the partition is empty: nothing waits for it.
  void unstorable(PartitionWatermark position);
  /// The server says that it is not ours. It waits until `assigned` tells whether that is so. True: the second time in
  /// a row.
  [[nodiscard]] bool refused(PartitionId id);
  /// These are ours, by the server's word. What was refused of them is stored again; what was refused of others is
  /// theirs, and returned.
  std::vector<PartitionWatermark> assigned(const std::set<PartitionId>& ours);
  /// What the server has of it is another partition's story: it will not be stored by us before it has begun anew.
  void withdraw(PartitionId id);
  /// What was settled means nothing: its offsets count another topic.
  void forget(PartitionId id);
  /// The server, or the group, may not be what it was: what it has of those that are owned is not known, and is stored
  /// again once its messages were looked at.
  void doubt_all();
  struct Doubt {
    PartitionId id;
    std::optional<KnownMessage> known;
  };
  [[nodiscard]] std::vector<Doubt> doubts() const;
  void trust(PartitionId id);
  void store_failed(Error error);
  /// Nothing will be stored any more.
  void close(Error error);

 private:
  struct Entry {
    Watermark settled;
    std::optional<KnownMessage> known;
    std::optional<Watermark> stored;
    std::optional<Watermark> unstorable;
    bool was_stored = false;
    std::uint64_t yields = 0;
    std::uint64_t begun_yields = 0;  ///< when it was begun here
    int refusals = 0;                ///< in a row
    bool refused = false;            ///< and not asked about yet
    bool doubted = false;
    bool owned = false;
    [[nodiscard]] bool waits() const noexcept {
      return owned && settled.value() > 0 && stored != settled && unstorable != settled;
    }
  };
  [[nodiscard]] Entry* find(PartitionId id) MILLRACE_REQUIRES(mutex_);
  [[nodiscard]] const Entry* find(PartitionId id) const MILLRACE_REQUIRES(mutex_);

  mutable Mutex mutex_;
  CondVar changed_;
  std::map<PartitionId, Entry> entries_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<Error> error_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<Error> closed_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::iggy_source
