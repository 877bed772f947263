// SPDX-License-Identifier: Apache-2.0
// A listing as bytes, as docs/formats/manifest.md describes it (The kept listing), and what has changed since. Pure;
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "connectors/s3/listing.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"

namespace millrace::s3_source {

/// One zstd frame of every object's key, ETag, size and time.
[[nodiscard]] std::string pack(const Listing& listing);

/// An object as a listing has it.
struct ObjectVersion {
  std::string etag;
  std::uint64_t size = 0;
  UnixMicros last_modified = kNoTimestamp;
  friend bool operator==(const ObjectVersion&, const ObjectVersion&) = default;
};

/// One object that two listings do not agree about.
struct ObjectChange {
  enum class Kind : std::uint8_t {
    added,
    removed,
    changed,  ///< another ETag or size
  };
  std::string key;
  std::optional<ObjectVersion> was;
  std::optional<ObjectVersion> is;

  [[nodiscard]] Kind kind() const noexcept { return !was ? Kind::added : is ? Kind::changed : Kind::removed; }
  friend bool operator==(const ObjectChange&, const ObjectChange&) = default;
};

/// What one listing has that another has not.
struct ListingDifference {
  static constexpr std::size_t kNamed = 3;  ///< changes of each kind that are told in full
  struct Kind {
    std::uint64_t count = 0;
    std::vector<ObjectChange> first;  ///< in the order of their keys
    friend bool operator==(const Kind&, const Kind&) = default;
  };
  Kind added;
  Kind removed;
  Kind changed;

  void add(ObjectChange change);
  /// "1 added ('in/b' (10 bytes, ETag "2")), 1 changed ('in/a' (was 10 bytes, ETag "1"; is 12 bytes, ETag "3"))", or
  /// "no object has changed".
  [[nodiscard]] std::string describe() const;
  friend bool operator==(const ListingDifference&, const ListingDifference&) = default;
};

/// Tells every change, in the order of the keys, on the way through `packed`, without a second listing in memory
/// (INV-7). Fails (manifest) on bytes that pack() did not write, never crashing on any, and with what `tell` fails
/// with.
[[nodiscard]] Result<void> each_change(std::string_view packed, const Listing& now,
                                       const std::function<Result<void>(ObjectChange)>& tell);

}  // namespace millrace::s3_source
