// SPDX-License-Identifier: Apache-2.0
// UploadLedger: which uploads in parts are under way, kept in the store, so that what a crash leaves behind is ended by
// the next run without listing anybody's uploads. One small object for each partition that uploads in parts:
//
//   <prefix>/_millrace/<pipeline>/uploads-<partition %05d>.json    {"version": 1, "uploads": [{"key": ..., "id": ...}]}
//
// It holds what was under way when the last upload began; the end of one is not written, since to abort what is
// complete does nothing. A run that ends cleanly removes it. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/base/sync.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_sink {

class UploadLedger {
 public:
  /// `folder`: "<prefix>/_millrace/<pipeline>/"
  UploadLedger(std::shared_ptr<ObjectStore> store, std::string folder, Logger log)
      : store_(std::move(store)), folder_(std::move(folder)), log_(std::move(log)) {}

  /// Once for each partition: aborts what an earlier run left. Fails only where another try may help.
  [[nodiscard]] Result<void> settle(PartitionId partition);
  /// Before the first part of `upload` is sent.
  [[nodiscard]] Result<void> add(PartitionId partition, const UploadId& upload);
  /// It is complete or aborted.
  void forget(PartitionId partition, const UploadId& upload);

  /// Removes what it has written, where that is allowed and nothing is under way. At the end of a run.
  void clear();

  /// The document, and back; fails (manifest) on what is none.
  [[nodiscard]] static std::string to_json(const std::vector<UploadId>& uploads);
  [[nodiscard]] static Result<std::vector<UploadId>> from_json(std::string_view text);

 private:
  struct Partition {
    bool settled = false;
    bool noted = false;
    std::vector<UploadId> open;
  };
  [[nodiscard]] std::string key_of(PartitionId partition) const;
  [[nodiscard]] Result<void> settle_locked(PartitionId partition) MILLRACE_REQUIRES(mutex_);

  const std::shared_ptr<ObjectStore> store_;
  const std::string folder_;
  const Logger log_;
  Mutex mutex_;
  std::map<PartitionId, Partition> partitions_ MILLRACE_GUARDED_BY(mutex_);
  bool warned_ MILLRACE_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::s3_sink
