// SPDX-License-Identifier: Apache-2.0
// Positions: what is settled of each partition and what the server has of it. Between the control thread, which settles
// and waits, and the thread that stores. Thread-safe.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/result.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"

namespace millrace::iggy_source {

class Positions {
 public:
  // The control thread:
  /// A lane of it begins at `begin`, and the server has `stored`.
  void own(PartitionId id, Watermark begin, std::optional<Watermark> stored);
  /// Nothing more is stored; what was settled is remembered.
  void disown_all();
  /// Of partitions that are not owned, nothing.
  void settle(std::span<const PartitionWatermark> watermarks);
  /// Everything settled is stored, or not ours to store, on success. Fails (retryable) at `deadline` or with what the
  /// latest try failed with by then.
  [[nodiscard]] Result<void> wait_until_stored(Clock& clock, SteadyTime deadline);
  [[nodiscard]] std::optional<Watermark> stored(PartitionId id) const;

  // Any thread:
  /// One past the last record that this process has made durable, in this life or an earlier one of the lane.
  [[nodiscard]] std::optional<Watermark> settled(PartitionId id) const;

  // The storing thread:
  /// What is settled and not stored.
  [[nodiscard]] std::vector<PartitionWatermark> to_store() const;
  void stored(PartitionWatermark position);
  /// The server gave it to somebody else: it will not be stored by us.
  void drop(PartitionId id);
  /// The records behind what was settled are gone: the lane begins elsewhere.
  void forget(PartitionId id);
  void store_failed(Error error);

 private:
  struct Entry {
    Watermark settled;
    std::optional<Watermark> stored;
    bool owned = false;
    [[nodiscard]] bool waits() const noexcept { return owned && settled.value() > 0 && stored != settled; }
  };
  mutable Mutex mutex_;
  CondVar changed_;
  std::map<PartitionId, Entry> entries_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<Error> error_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::iggy_source
