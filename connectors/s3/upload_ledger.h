// SPDX-License-Identifier: Apache-2.0
// UploadLedger: which uploads in parts are under way, kept in the store, so that what a crash leaves behind is ended by
// the next run without listing anybody's uploads. One small object for each slot, which is a partition of a topic of a
// stream:
//
//   <prefix>/_millrace/<pipeline>/uploads-<slot>.json    {"version": 1, "uploads": [{"key": ..., "id": ...}]}
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
  /// `settings`: how notes are kept. `folder`: "<prefix>/_millrace/<pipeline>/"
  UploadLedger(std::shared_ptr<ObjectStore> store, std::string folder, Logger log, ObjectSettings settings = {})
      : store_(std::move(store)), folder_(std::move(folder)), log_(std::move(log)), settings_(std::move(settings)) {}

  /// The slot of a partition; whoever shares pipeline name and prefix has other topics or other partitions.
  [[nodiscard]] static std::string slot_of(std::string_view stream, std::string_view topic, PartitionId partition);

  /// Once for each slot: aborts what an earlier run left. Fails only where another try may help.
  [[nodiscard]] Result<void> settle(const std::string& slot);
  /// Before the first part of `upload` is sent.
  [[nodiscard]] Result<void> add(const std::string& slot, const UploadId& upload);
  /// It is complete or aborted.
  void forget(const std::string& slot, const UploadId& upload);

  /// Removes the notes that it has written or found, where that is allowed and nothing is under way. At the end of a
  /// run.
  void clear();

  /// The document, and back; fails (manifest) on what is none.
  [[nodiscard]] static std::string to_json(const std::vector<UploadId>& uploads);
  [[nodiscard]] static Result<std::vector<UploadId>> from_json(std::string_view text);

 private:
  struct Slot {
    bool settled = false;
    bool noted = false;  ///< there is a note, of this run or an earlier one
    std::vector<UploadId> open;
  };
  [[nodiscard]] std::string key_of(const std::string& slot) const;
  [[nodiscard]] Result<void> settle_locked(const std::string& slot) MILLRACE_REQUIRES(mutex_);

  const std::shared_ptr<ObjectStore> store_;
  const std::string folder_;
  const Logger log_;
  const ObjectSettings settings_;  ///< of the notes
  Mutex mutex_;
  std::map<std::string, Slot> slots_ MILLRACE_GUARDED_BY(mutex_);
  bool warned_ MILLRACE_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::s3_sink
