// SPDX-License-Identifier: Apache-2.0
#include "tests/s3_fault_server/object_table.h"

#include <fmt/format.h>

#include <charconv>

#include "tests/s3_fault_server/sigv4_check.h"

namespace millrace::testing {

namespace {

std::string synthetic_key(const SyntheticKeys& keys, std::uint64_t number) {
  return fmt::format("{}{:010}", keys.prefix, number);
}

// The number of the first synthetic key above `after`.
std::uint64_t synthetic_start(const SyntheticKeys& keys, std::string_view after) {
  if (after < keys.prefix) return 0;
  if (!after.starts_with(keys.prefix)) return keys.count;
  std::uint64_t number = 0;
  const auto digits = after.substr(keys.prefix.size());
  if (digits.empty()) return 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return parsed.ec == std::errc() ? number + 1 : keys.count;
}

}  // namespace

void ObjectTable::create_bucket(std::string_view bucket) {
  const MutexLock lock(mutex_);
  buckets_.try_emplace(std::string(bucket));
}

bool ObjectTable::has_bucket(std::string_view bucket) const {
  const MutexLock lock(mutex_);
  return buckets_.contains(bucket);
}

ObjectTable::PutOutcome ObjectTable::put(std::string_view bucket, std::string_view key, StoredObject object,
                                         const std::function<bool(const StoredObject*)>& allowed) {
  if (!object.bytes) object.bytes = std::make_shared<const std::string>();
  if (!object.etag) object.etag = '"' + md5_hex(*object.bytes) + '"';
  const MutexLock lock(mutex_);
  const auto place = buckets_.find(bucket);
  if (place == buckets_.end()) return PutOutcome::no_such_bucket;
  auto& objects = place->second.objects;
  const auto found = objects.find(key);
  if (allowed && !allowed(found == objects.end() ? nullptr : &found->second)) return PutOutcome::precondition_failed;
  if (object.last_modified == kNoTimestamp) {
    object.last_modified = next_time_;
    next_time_ += 1'000'000;
  }
  objects.insert_or_assign(std::string(key), std::move(object));
  return PutOutcome::stored;
}

std::optional<StoredObject> ObjectTable::get(std::string_view bucket, std::string_view key) const {
  const MutexLock lock(mutex_);
  const auto place = buckets_.find(bucket);
  if (place == buckets_.end()) return std::nullopt;
  const auto found = place->second.objects.find(key);
  if (found != place->second.objects.end()) return found->second;
  const auto& synthetic = place->second.synthetic;
  if (synthetic && key.starts_with(synthetic->prefix) && key.size() == synthetic->prefix.size() + 10) {
    return place->second.synthetic_object;
  }
  return std::nullopt;
}

bool ObjectTable::remove(std::string_view bucket, std::string_view key) {
  const MutexLock lock(mutex_);
  const auto place = buckets_.find(bucket);
  if (place == buckets_.end()) return false;
  const auto found = place->second.objects.find(key);
  if (found == place->second.objects.end()) return false;
  place->second.objects.erase(found);
  return true;
}

void ObjectTable::set_synthetic(std::string_view bucket, SyntheticKeys keys) {
  const MutexLock lock(mutex_);
  Bucket& place = buckets_[std::string(bucket)];
  place.synthetic_object.bytes = keys.body;
  place.synthetic_object.etag = '"' + md5_hex(*keys.body) + '"';
  place.synthetic_object.last_modified = next_time_;
  place.synthetic = std::move(keys);
}

bool ObjectTable::list(std::string_view bucket, std::string_view prefix, std::string_view after, std::size_t limit,
                       std::vector<std::pair<std::string, StoredObject>>& out) const {
  const MutexLock lock(mutex_);
  const auto place = buckets_.find(bucket);
  if (place == buckets_.end()) return false;
  if (const auto& keys = place->second.synthetic; keys && keys->prefix.starts_with(prefix)) {
    std::uint64_t number = synthetic_start(*keys, after);
    for (; number < keys->count && out.size() < limit; ++number) {
      out.emplace_back(synthetic_key(*keys, number), place->second.synthetic_object);
    }
    return number < keys->count;
  }
  const auto& objects = place->second.objects;
  auto at = after < prefix ? objects.lower_bound(prefix) : objects.upper_bound(after);
  for (; at != objects.end() && at->first.starts_with(prefix); ++at) {
    if (out.size() == limit) return true;
    out.emplace_back(at->first, at->second);
  }
  return false;
}

}  // namespace millrace::testing
