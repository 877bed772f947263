// SPDX-License-Identifier: Apache-2.0
// FolderCare: what a folder is owed by the first put of this process into it, whatever earlier processes left undone.
// Its own name, and those of the folders above it, are made durable (a killed run may have made them and not come that
// far); temporary files of puts that nobody finishes any more are removed. Thread-safe.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "millrace/base/log.h"
#include "millrace/base/result.h"
#include "millrace/base/sync.h"

namespace millrace {

class FolderCare {
 public:
  explicit FolderCare(Logger log) : log_(std::move(log)) {}

  /// To be asked when a put has found or made `folder` (with its slash), before it is called durable. Blocks, the first
  /// time. Only a failed sync is an error; temporary files that cannot be removed stay.
  [[nodiscard]] Result<void> attend(const std::string& folder);

 private:
  static constexpr std::size_t kRemembered = 4096;  ///< bounds the memory; a folder forgotten is attended to again

  const Logger log_;
  Mutex mutex_;
  std::set<std::string, std::less<>> done_ MILLRACE_GUARDED_BY(mutex_);
};

/// Makes the names in `folder` durable.
[[nodiscard]] Result<void> sync_folder(const std::string& folder);

}  // namespace millrace
