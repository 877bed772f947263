// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/shard.h"

#include <fmt/format.h>

#include "connectors/s3/rolling_hash.h"
#include "millrace/base/bounded.h"

namespace millrace::s3_source {

bool Shard::takes(std::string_view key) const noexcept { return hash_bytes(key) % count == index; }

std::string Shard::describe() const { return fmt::format("{} of {}", index, count); }

std::string shard_key(std::string_view manifest_key, const Shard& shard) {
  const bool json = manifest_key.ends_with(".json");
  if (json) manifest_key.remove_suffix(5);
  return fmt::format("{}.shard-{}-of-{}{}", manifest_key, shard.index, shard.count, json ? ".json" : "");
}

std::string shard_receipt_key(std::string_view receipt_key, const Shard& shard) {
  std::size_t stem = receipt_key.size();
  for (const std::string_view extension : {".zst", ".ndjson", ".jsonl", ".json"}) {
    if (receipt_key.substr(0, stem).ends_with(extension)) stem -= extension.size();
  }
  return fmt::format("{}.shard-{}-of-{}{}", receipt_key.substr(0, stem), shard.index, shard.count,
                     receipt_key.substr(stem));
}

void WholeListing::add(const ObjectInfo& object) {
  std::string fields;
  append_fields(fields, object.key, object.etag.value, object.size);
  ++objects;
  bytes = bounded_sum(bytes, object.size);
  hash += hash_bytes(fields);
}

}  // namespace millrace::s3_source
