// SPDX-License-Identifier: Apache-2.0
// What the S3 source is told, checked: S3SourceOptions as given become Settings in which everything is parsed. Values.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "connectors/s3/identity.h"
#include "connectors/s3/key_filter.h"
#include "connectors/s3/object_limits.h"
#include "connectors/s3/retry_policy.h"
#include "connectors/s3/shard.h"
#include "millrace/connectors/s3.h"
#include "millrace/framing/framer.h"
#include "millrace/store/store_options.h"
#include "millrace/store/store_url.h"

namespace millrace::s3_source {

inline constexpr std::uint64_t kMaxLanes = 4096;
inline constexpr std::uint64_t kMaxRequestsInFlight = 1024;

/// Valid settings; nothing has been opened yet.
struct Settings {
  S3SourceOptions given;
  StoreUrl url;
  StoreUrl checkpoint_url;   ///< of this process's own manifest
  StoreUrl checkpoint_base;  ///< as given, before a shard's name
  StoreOptions store;
  StoreOptions checkpoint_store;
  StoreUrl receipt_url;  ///< of this process's own receipt; meaningless unless `receipt`
  StoreOptions receipt_store;
  bool receipt = false;    ///< one is asked for
  bool one_store = false;  ///< the manifest is kept in the source's own store
  KeyFilter filter;
  ObjectLimits limits;
  SourceIdentity identity;
  std::string name;  ///< of the records' origin
  RetryPolicy retry;
  FramerFactory framer = nullptr;
  CsvDialect csv;

  /// Where another shard of the same source keeps its manifest.
  [[nodiscard]] StoreUrl checkpoint_of(const Shard& shard) const;
  enum class StoreRole { source, checkpoint, own };
  /// Whose store a receipt at `at` goes to: one that is in use anyway, unless it is given options of its own.
  [[nodiscard]] StoreRole role_of_receipt(const StoreUrl& at) const {
    if (receipt_store.empty() && url.same_store(at)) return StoreRole::source;
    return receipt_store.empty() && checkpoint_url.same_store(at) ? StoreRole::checkpoint : StoreRole::own;
  }
  /// The person gave the source's store options, and none for the manifest in another bucket.
  [[nodiscard]] bool store_unset() const {
    return !one_store && checkpoint_url.scheme == "s3" && checkpoint_store.empty() && !store.empty();
  }
};

/// Where a key of the section stands: "file:line:col", or empty.
using WhereIsKey = std::function<std::string(std::string_view key)>;
/// Checks ranges and what keys mean together; every problem is added, with the key's path below `path` in front.
void check(const S3SourceOptions& options, const std::string& path, const WhereIsKey& where, ConfigProblems& problems);

/// As in the YAML: "auto", "gzip" ...
[[nodiscard]] std::string_view name_of(ObjectCodec codec);

/// Fails (config) with every problem that check() finds.
[[nodiscard]] Result<Settings> settle(S3SourceOptions options);

/// Source::replay_gap of a source with these options.
[[nodiscard]] std::string replay_gap(const S3SourceOptions& options);

}  // namespace millrace::s3_source
