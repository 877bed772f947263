// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/kept_listing.h"

#include <fmt/format.h>

#include <utility>

#include "millrace/base/printable.h"

namespace millrace::s3_source {
std::string listing_key(std::string_view manifest_key) { return key_beside(manifest_key, "listing.zst"); }

Result<StoredRecord> KeptListing::write(const Listing& listing) {
  const std::string key = listing_key(manifest_key_);
  auto record = put_record(*store_, key, pack(listing), "application/zstd", timeout_);
  if (record) return record;
  return fail(std::move(record).error().prefixed(fmt::format("writing {}: ", url_of(key))));
}

Result<ListingDifference> KeptListing::changes(const StoredRecord& record, const Listing& now) {
  ListingDifference difference;
  MILLRACE_TRY(each_change(record, now, [&](ObjectChange change) -> Result<void> {
    difference.add(std::move(change));
    return {};
  }));
  return difference;
}

Result<void> KeptListing::each_change(const StoredRecord& record, const Listing& now,
                                      const std::function<Result<void>(ObjectChange)>& tell) {
  const std::string key = std::string(folder_of(manifest_key_)) + record.name;
  auto packed = get_record(*store_, key, record, timeout_);
  if (!packed && packed.error().code() != ErrorCode::manifest) {
    return fail(std::move(packed).error().prefixed(fmt::format("the kept listing {} ", url_of(key))));
  }
  if (!packed) return fail(unusable(key, packed.error().message()));
  bool told = true;
  auto done = s3_source::each_change(*packed, now, [&](ObjectChange change) {
    auto result = tell(std::move(change));
    told = result.has_value();
    return result;
  });
  if (done || !told) return done;
  return fail(unusable(key, fmt::format("cannot be understood ({})", done.error().message())));
}

Error KeptListing::unusable(std::string_view key, std::string_view why) const {
  return Error::fatal(ErrorCode::manifest,
                      fmt::format("the kept listing {} {}, so which objects changed cannot be told; the position "
                                  "in the manifest is checked without it",
                                  url_of(key), why));
}

std::string KeptListing::url_of(std::string_view key) const {
  return std::string(folder_of(url_)) + printable(key.substr(folder_of(key).size()));
}

}  // namespace millrace::s3_source
