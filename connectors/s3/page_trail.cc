// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/page_trail.h"

#include <fmt/format.h>

#include <algorithm>

#include "connectors/s3/rolling_hash.h"
#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

std::unexpected<Error> endless(std::string_view what) {
  return fail(Error::fatal(ErrorCode::bad_response,
                           fmt::format("{}, so the listing would never end; the store is at fault", what)));
}

}  // namespace

// Keys that rise all the way never come again, so nothing has to be kept of them. Where the order breaks, as it may in
// a store without one, each page is known by the key that it begins with: a finite number of keys has as many such
// pages.
Result<void> PageTrail::follow(const ListPage& page) {
  if (!page.continuation.empty() && !tokens_.insert(hash_bytes(page.continuation)).second) {
    return endless("it repeats the continuation token of an earlier page");
  }
  if (page.objects.empty()) {
    if (page.continuation.empty() || ++empty_ < kMostEmptyPages) return {};
    return endless(fmt::format("it is the last of {} pages in a row without a key", empty_));
  }
  empty_ = 0;
  const std::string& first = page.objects.front().key;
  const bool again = !rises(page) && !begins_.insert(hash_bytes(first)).second;
  last_ = page.objects.back().key;
  if (again) return endless(fmt::format("it begins with '{}' as an earlier page did", printable(first)));
  return {};
}

bool PageTrail::rises(const ListPage& page) {
  return last_ < page.objects.front().key &&
         std::ranges::adjacent_find(page.objects, std::ranges::greater_equal{}, &ObjectInfo::key) == page.objects.end();
}

}  // namespace millrace::s3_source
