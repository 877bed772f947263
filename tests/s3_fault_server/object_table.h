// SPDX-License-Identifier: Apache-2.0
// ObjectTable: the buckets of the fault server, in memory. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/sync.h"
#include "millrace/base/time.h"

namespace millrace::testing {

/// What the server keeps of one object. Fields left empty are filled when it is put.
struct StoredObject {
  std::shared_ptr<const std::string> bytes;
  std::optional<std::string> etag;  ///< as sent in the header; unset: the quoted MD5; empty: no ETag at all
  UnixMicros last_modified = kNoTimestamp;
  std::string content_type;
  std::string content_encoding;
  std::string storage_class;
  bool restored = false;                                      ///< a copy of an archived object lies there to be read
  std::vector<std::pair<std::string, std::string>> metadata;  ///< names without x-amz-meta-
};

/// Keys made up while they are listed, for listings larger than a test's memory: `count` keys prefix + 10 digits, all
/// with the same body.
struct SyntheticKeys {
  std::string prefix;
  std::uint64_t count = 0;
  std::shared_ptr<const std::string> body;
};

class ObjectTable {
 public:
  enum class PutOutcome { stored, precondition_failed, no_such_bucket };

  void create_bucket(std::string_view bucket);
  [[nodiscard]] bool has_bucket(std::string_view bucket) const;
  /// Checks the condition and stores in one step. `allowed` sees the object that is there now, if any.
  PutOutcome put(std::string_view bucket, std::string_view key, StoredObject object,
                 const std::function<bool(const StoredObject*)>& allowed = {});
  [[nodiscard]] std::optional<StoredObject> get(std::string_view bucket, std::string_view key) const;
  bool remove(std::string_view bucket, std::string_view key);
  void set_synthetic(std::string_view bucket, SyntheticKeys keys);
  /// At most `limit` objects with `prefix` and a key above `after`, in byte order; true when there are more.
  bool list(std::string_view bucket, std::string_view prefix, std::string_view after, std::size_t limit,
            std::vector<std::pair<std::string, StoredObject>>& out) const;

 private:
  struct Bucket {
    std::map<std::string, StoredObject, std::less<>> objects;
    std::optional<SyntheticKeys> synthetic;
    StoredObject synthetic_object;
  };
  mutable Mutex mutex_;
  std::map<std::string, Bucket, std::less<>> buckets_ MILLRACE_GUARDED_BY(mutex_);
  UnixMicros next_time_ MILLRACE_GUARDED_BY(mutex_) = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z, then up
};

}  // namespace millrace::testing
