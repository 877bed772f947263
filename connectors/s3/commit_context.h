// SPDX-License-Identifier: Apache-2.0
// CommitContext: what the writers of a sink with commit objects share: whose they are, where they lie, and how far each
// partition is settled. Any thread.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "millrace/base/ids.h"
#include "millrace/base/sync.h"

namespace millrace::s3_sink {

class CommitContext {
 public:
  CommitContext(std::string run, std::string own_folder, std::string told_apart_by)
      : writer(std::move(run)), folder(std::move(own_folder)), files_by(std::move(told_apart_by)) {}

  const std::string writer;    ///< random, new for each run
  const std::string folder;    ///< "<prefix>/_millrace/<pipeline>/"
  const std::string files_by;  ///< how files of a partition are told apart

  /// Control thread: everything before these is durable, or was dropped on purpose.
  void settle(std::span<const PartitionWatermark> watermarks) {
    const MutexLock lock(mutex_);
    for (const PartitionWatermark& one : watermarks) settled_[one.partition] = one.watermark;
  }
  /// What was said of `partition` since it was last forgotten.
  [[nodiscard]] std::optional<Watermark> settled(PartitionId partition) const {
    const MutexLock lock(mutex_);
    const auto found = settled_.find(partition);
    return found == settled_.end() ? std::nullopt : std::optional(found->second);
  }
  /// The partition begins anew, perhaps under other offsets.
  void forget(PartitionId partition) {
    const MutexLock lock(mutex_);
    settled_.erase(partition);
  }

 private:
  mutable Mutex mutex_;
  std::map<PartitionId, Watermark> settled_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::s3_sink
