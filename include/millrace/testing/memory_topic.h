// SPDX-License-Identifier: Apache-2.0
// MemoryTopic: partitions of payloads in memory, with the positions that were committed for them: what stands outside a
// run, as a broker or a bucket would, and outlives it. Tests fill it, read what was committed, and make commits fail.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/result.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"

#pragma GCC visibility push(default)
namespace millrace::testing {

class MemoryTopic {
 public:
  explicit MemoryTopic(std::uint32_t partitions);

  /// Appends at the end of `partition`; offsets count from 0.
  void append(PartitionId partition, std::string payload);
  /// Nothing will be appended any more; lanes come to their end.
  void end();
  [[nodiscard]] std::vector<PartitionId> partitions() const;
  [[nodiscard]] std::size_t size(PartitionId partition) const;

  /// Where a lane of `partition` starts: what was committed, or 0.
  [[nodiscard]] Offset position(PartitionId partition) const;
  [[nodiscard]] std::map<PartitionId, Watermark> committed() const;
  /// Each successful commit as it came.
  [[nodiscard]] std::vector<std::vector<PartitionWatermark>> commits() const;
  [[nodiscard]] std::size_t flushes() const;

  /// Sees each commit before it is kept. Set before the run; called on the control thread.
  void audit(std::function<void(const std::vector<PartitionWatermark>&)> auditor);
  /// The next commits (or flushes) fail with these, one each.
  void fail_commits(std::vector<Error> errors);
  void fail_flushes(std::vector<Error> errors);

  // For MemorySource and its lanes.
  struct Read {
    std::vector<std::string> payloads;
    bool ended = false;  ///< nothing is there and nothing will come
  };
  /// Up to `max` payloads from `from` on; waits for the first until `deadline` on `clock`.
  [[nodiscard]] Read read(PartitionId partition, Offset from, std::size_t max, Clock& clock, SteadyTime deadline);
  /// Is woken when something is appended to `partition`, and at the end.
  void wake_on_append(PartitionId partition, Waker waker);
  [[nodiscard]] Result<void> commit(std::vector<PartitionWatermark> watermarks);
  [[nodiscard]] Result<void> flush();

 private:
  struct Partition {
    std::vector<std::string> payloads;
    std::vector<Waker> wakers;
    std::optional<Watermark> committed;
  };
  mutable Mutex mutex_;
  CondVar appended_;
  std::vector<Partition> partitions_ MILLRACE_GUARDED_BY(mutex_);
  bool ended_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::vector<std::vector<PartitionWatermark>> commits_ MILLRACE_GUARDED_BY(mutex_);
  std::deque<Error> commit_errors_ MILLRACE_GUARDED_BY(mutex_);
  std::deque<Error> flush_errors_ MILLRACE_GUARDED_BY(mutex_);
  std::size_t flushes_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::function<void(const std::vector<PartitionWatermark>&)> auditor_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::testing
#pragma GCC visibility pop
