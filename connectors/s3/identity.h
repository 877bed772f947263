// SPDX-License-Identifier: Apache-2.0
// SourceIdentity: what a checkpoint belongs to. Two runs with the same identity and lane count may share positions; any
// difference is named field by field (F09). A value.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "connectors/s3/shard.h"

namespace millrace::s3_source {

struct SourceIdentity {
  std::string url;
  std::string format;
  std::string compression;
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  std::string start_after;
  /// In bytes and in UTC to the microsecond, however they were written; empty: none.
  struct Limits {
    std::string min_size;
    std::string max_size;
    std::string modified_after;
    std::string modified_before;
    friend bool operator==(const Limits&, const Limits&) = default;
    /// Name and value of each.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> fields() const;
  };
  Limits limits;
  std::optional<Shard> shard;  ///< nothing: everything

  friend bool operator==(const SourceIdentity&, const SourceIdentity&) = default;
  /// Field name and value as shown to people, in a fixed order.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> fields() const;
  /// "s3-" and eight hex digits of a hash over all fields but the shard: how the records' origin is named by default,
  /// alike in all shards of a source.
  [[nodiscard]] std::string default_name() const;
};

}  // namespace millrace::s3_source
