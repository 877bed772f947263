// SPDX-License-Identifier: Apache-2.0
// PageTrail: does a listing get on? Sees every page as the store gave it and says when the pages would never end: a
// token or a page that comes again, or pages without a key for ever. Keeps eight bytes a page that repeats or is out of
// order, and one key. One I/O thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

#include "millrace/base/result.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_source {

class PageTrail {
 public:
  /// S3 may answer pages without a key, as for keys that were deleted; so many in a row are no store's.
  static constexpr std::uint64_t kMostEmptyPages = 1000;

  /// The next page. Fails (bad_response) when the listing does not get on.
  [[nodiscard]] Result<void> follow(const ListPage& page);

 private:
  [[nodiscard]] bool rises(const ListPage& page);

  std::unordered_set<std::uint64_t> tokens_;  // hashes of those seen, one a page
  std::unordered_set<std::uint64_t> begins_;  // hashes of the first keys of pages that did not rise
  std::string last_;                          // key of the page before
  std::uint64_t empty_ = 0;                   // pages in a row
};

}  // namespace millrace::s3_source
