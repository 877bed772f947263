// SPDX-License-Identifier: Apache-2.0
// A listing as bytes, as docs/formats/manifest.md describes it (The kept listing), and what has changed since. Pure;
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "connectors/s3/listing.h"
#include "millrace/base/result.h"

namespace millrace::s3_source {

/// One zstd frame of every object's key, ETag and size.
[[nodiscard]] std::string pack(const Listing& listing);

/// What one listing has that another has not.
struct ListingDifference {
  static constexpr std::size_t kNamed = 5;  ///< keys of each kind that are named
  struct Kind {
    std::uint64_t count = 0;
    std::vector<std::string> first;  ///< keys, in their order
    friend bool operator==(const Kind&, const Kind&) = default;
  };
  Kind added;
  Kind removed;
  Kind overwritten;  ///< another ETag or size

  /// "2 added ('in/b', 'in/c'), 1 overwritten ('in/a')", or "no object has changed".
  [[nodiscard]] std::string describe() const;
  friend bool operator==(const ListingDifference&, const ListingDifference&) = default;
};

/// Compares on the way through `packed`, without a second listing in memory (INV-7). Fails (manifest) on bytes that
/// pack() did not write; never crashes on any.
[[nodiscard]] Result<ListingDifference> changes_since(std::string_view packed, const Listing& now);

}  // namespace millrace::s3_source
