// SPDX-License-Identifier: Apache-2.0
// Shard: which part of a listing a process takes when several share one prefix, where it keeps its
// manifest, and what tells that all of them saw the same listing. Values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/store/object_store.h"

namespace millrace::s3_source {

/// {partition} of a sink is shard x lanes + lane, in 32 bits.
inline constexpr std::uint64_t kMaxShards = 65'536;

struct Shard {
  std::uint64_t index = 0;  ///< 0 .. count-1
  std::uint64_t count = 1;

  /// Every key belongs to exactly one shard of each count: XXH3_64(key) mod count.
  [[nodiscard]] bool takes(std::string_view key) const noexcept;
  /// "1 of 3", counted from 0 as in the configuration.
  [[nodiscard]] std::string describe() const;
  friend bool operator==(const Shard&, const Shard&) = default;
};

/// "a/backfill.json" of shard 1 of 3 is "a/backfill.shard-1-of-3.json".
[[nodiscard]] std::string shard_key(std::string_view manifest_key, const Shard& shard);

/// "r.ndjson.zst" of shard 1 of 3 is "r.shard-1-of-3.ndjson.zst".
[[nodiscard]] std::string shard_receipt_key(std::string_view receipt_key, const Shard& shard);

/// Everything that was listed, whichever shard takes it. The hash does not depend on the order: the sum of the XXH3_64
/// of each object's fields.
struct WholeListing {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;  ///< saturates
  std::uint64_t hash = 0;

  void add(const ObjectInfo& object);
  friend bool operator==(const WholeListing&, const WholeListing&) = default;
};

}  // namespace millrace::s3_source
