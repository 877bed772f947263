// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "connectors/s3/rolling_hash.h"
#include "millrace/base/bounded.h"
#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

// Small listings stay small; large ones waste at most one block.
constexpr std::size_t kFirstBlock = std::size_t{16} << 10U;
constexpr std::size_t kLargestBlock = std::size_t{1} << 20U;

/// Classes whose objects answer 403 InvalidObjectState until they are restored, by the names that S3 and stores like it
/// give them. Each object is asked before it is called unreadable, so a store that reads them at once loses nothing.
/// GLACIER_IR is read like any other.
bool is_archive_class(std::string_view storage_class) {
  constexpr std::array<std::string_view, 8> kClasses = {"GLACIER",      "DEEP_ARCHIVE",   "ARCHIVE",
                                                        "COLD_ARCHIVE", "Archive",        "DEEP_COLD_ARCHIVE",
                                                        "ColdArchive",  "DeepColdArchive"};
  return std::ranges::find(kClasses, storage_class) != kClasses.end();
}

ObjectKind kind_of(const ObjectInfo& object) {
  if (object.size == 0) return object.key.ends_with('/') ? ObjectKind::marker : ObjectKind::empty;
  return is_archive_class(object.storage_class) ? ObjectKind::archived : ObjectKind::data;
}

}  // namespace

ListedObject Listing::operator[](std::size_t index) const {
  const Entry& entry = entries_[index];
  return {key_of(entry), {entry.at + entry.key_size, entry.etag_size}, entry.size, entry.last_modified, entry.kind};
}

std::optional<std::size_t> Listing::find(std::string_view key) const {
  const auto at = std::ranges::lower_bound(entries_, key, {}, key_of);
  if (at == entries_.end() || key_of(*at) != key) return std::nullopt;
  return static_cast<std::size_t>(at - entries_.begin());
}

char* ListingBuilder::take(std::size_t bytes) {
  if (block_size_ - block_used_ < bytes) {
    const std::size_t next = std::clamp(block_size_ * 2, kFirstBlock, kLargestBlock);
    block_size_ = std::max(next, bytes);
    block_used_ = 0;
    listing_.blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_size_));
  }
  char* at = listing_.blocks_.back().get() + block_used_;
  block_used_ += bytes;
  return at;
}

Result<void> ListingBuilder::add(const ObjectInfo& object) {
  const std::string& etag = object.etag.value;
  if (object.key.size() > std::numeric_limits<std::uint32_t>::max() ||
      etag.size() > std::numeric_limits<std::uint16_t>::max()) {
    return fail(
        Error::fatal(ErrorCode::limit, fmt::format("the listing names an object with a key of {} bytes and an "
                                                   "ETag of {}: '{}'",
                                                   object.key.size(), etag.size(), printable(object.key, 100))));
  }
  char* at = take(object.key.size() + etag.size());
  std::ranges::copy(etag, std::ranges::copy(object.key, at).out);
  if (sorted_ && !listing_.entries_.empty()) sorted_ = Listing::key_of(listing_.entries_.back()) < object.key;
  const ObjectKind kind = kind_of(object);
  listing_.counts_.markers += kind == ObjectKind::marker ? 1 : 0;
  listing_.counts_.empty += kind == ObjectKind::empty ? 1 : 0;
  listing_.counts_.archived += kind == ObjectKind::archived ? 1 : 0;
  listing_.entries_.push_back({at, object.size, object.last_modified, static_cast<std::uint32_t>(object.key.size()),
                               static_cast<std::uint16_t>(etag.size()), kind});
  if (listing_.entries_.size() < look_at_) return {};
  look_at_ *= 2;
  return sorted_ ? Result<void>() : sort();
}

/// Fails when a key came twice.
Result<void> ListingBuilder::sort() {
  std::ranges::sort(listing_.entries_, {}, Listing::key_of);
  const auto twice = std::ranges::adjacent_find(listing_.entries_, {}, Listing::key_of);
  if (twice == listing_.entries_.end()) return {};
  return fail(
      Error::fatal(ErrorCode::bad_response,
                   fmt::format("the store listed the key '{}' twice; a listing that repeats itself cannot be trusted",
                               printable(Listing::key_of(*twice)))));
}

Result<Listing> ListingBuilder::finish() && {
  if (!sorted_) MILLRACE_TRY(sort());
  RollingHash hash;
  for (std::size_t i = 0; i < listing_.size(); ++i) {
    const ListedObject object = listing_[i];
    hash.fold(object.key, object.etag, object.size);
    listing_.bytes_ = bounded_sum(listing_.bytes_, object.size);
  }
  listing_.hash_ = hash.value();
  return std::move(listing_);
}

}  // namespace millrace::s3_source
