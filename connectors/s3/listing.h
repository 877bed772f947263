// SPDX-License-Identifier: Apache-2.0
// Listing: every object of a prefix, sorted bytewise by key, held once and compactly (at most 100 bytes a key above the
// key's own length, INV-7). Built by one thread; immutable and thread-safe afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_source {

enum class ObjectKind : std::uint8_t {
  data,      ///< holds bytes to read
  marker,    ///< zero bytes and a key that ends in a slash
  empty,     ///< zero bytes
  archived,  ///< in a storage class that must be restored before it can be read
};

/// One object. Views live as long as the listing.
struct ListedObject {
  std::string_view key;
  std::string_view etag;
  std::uint64_t size = 0;
  UnixMicros last_modified = kNoTimestamp;
  ObjectKind kind = ObjectKind::data;
  [[nodiscard]] bool has_bytes() const noexcept { return kind == ObjectKind::data || kind == ObjectKind::archived; }
};

/// What was listed, whether it is read or not.
struct ListingCounts {
  std::uint64_t listed = 0;    ///< keys that the store named
  std::uint64_t filtered = 0;  ///< of these, left out by include, exclude, start_after, sizes and times
  std::uint64_t markers = 0;
  std::uint64_t empty = 0;
  std::uint64_t archived = 0;
};

class Listing {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] ListedObject operator[](std::size_t index) const;
  /// Where the object of this key stands; nothing when it is not listed.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view key) const;
  /// Stored bytes of all objects; saturates, as sizes come from outside.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  /// RollingHash over all objects.
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  [[nodiscard]] const ListingCounts& counts() const noexcept { return counts_; }

  // The deal: place i of the listing is object i / lanes of lane i % lanes.
  [[nodiscard]] std::uint64_t objects_of_lane(std::uint64_t lane, std::uint64_t lanes) const noexcept {
    return lane >= size() ? 0 : (size() - lane + lanes - 1) / lanes;
  }
  [[nodiscard]] ListedObject object_of_lane(std::uint64_t lane, std::uint64_t lanes, std::uint64_t ordinal) const {
    return (*this)[ordinal * lanes + lane];
  }

 private:
  friend class ListingBuilder;
  struct Entry {
    const char* at;  // the key, then the ETag
    std::uint64_t size;
    UnixMicros last_modified;
    std::uint32_t key_size;
    std::uint16_t etag_size;
    ObjectKind kind;
  };
  [[nodiscard]] static std::string_view key_of(const Entry& entry) noexcept { return {entry.at, entry.key_size}; }

  std::deque<Entry> entries_;  // grows without a copy of itself
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::uint64_t bytes_ = 0;
  std::uint64_t hash_ = 0;
  ListingCounts counts_;
};

/// Takes objects in any order and makes the listing of them.
class ListingBuilder {
 public:
  /// Fails (limit) on a key or ETag of absurd length, (bad_response) when keys come again: found out by the time that
  /// there are twice as many as there are different ones.
  [[nodiscard]] Result<void> add(const ObjectInfo& object);
  void count_filtered() { ++listing_.counts_.filtered; }
  void count_listed(std::uint64_t keys) { listing_.counts_.listed += keys; }
  [[nodiscard]] std::size_t size() const noexcept { return listing_.entries_.size(); }
  /// Sorts unless the store already did. Fails (bad_response) when a key came twice.
  [[nodiscard]] Result<Listing> finish() &&;

 private:
  static constexpr std::size_t kFirstLook = std::size_t{1} << 16U;
  char* take(std::size_t bytes);
  Result<void> sort();
  Listing listing_;
  std::size_t block_size_ = 0;
  std::size_t block_used_ = 0;
  bool sorted_ = true;
  std::size_t look_at_ = kFirstLook;  // so many keys are looked through for repetitions
};

}  // namespace millrace::s3_source
