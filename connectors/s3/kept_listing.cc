// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/kept_listing.h"

#include <fmt/format.h>

#include <utility>

#include "connectors/s3/rolling_hash.h"
#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

std::string_view folder_of(std::string_view key) { return key.substr(0, key.rfind('/') + 1); }

/// A listing may be much larger than a manifest: a second more for each MiB.
Duration long_enough(Duration timeout, std::uint64_t bytes) { return timeout + std::chrono::seconds(bytes >> 20U); }

}  // namespace

std::string listing_key(std::string_view manifest_key) {
  if (manifest_key.ends_with(".json")) manifest_key.remove_suffix(5);
  return std::string(manifest_key) + ".listing.zst";
}

Result<ListingRecord> KeptListing::write(const Listing& listing) {
  const std::string packed = pack(listing);
  const std::string key = listing_key(manifest_key_);
  ListingRecord record{key.substr(folder_of(key).size()), packed.size(), hash_bytes(packed)};
  PutRequest request;
  request.key = key;
  request.body = packed;
  request.content_type = "application/zstd";
  request.timeout = long_enough(timeout_, packed.size());
  auto done = store_->put(request);
  if (!done) return fail(std::move(done).error().prefixed(fmt::format("writing {}: ", url_of(record))));
  return record;
}

Result<ListingDifference> KeptListing::changes(const ListingRecord& record, const Listing& now) {
  ListingDifference difference;
  MILLRACE_TRY(each_change(record, now, [&](ObjectChange change) -> Result<void> {
    difference.add(std::move(change));
    return {};
  }));
  return difference;
}

Result<void> KeptListing::each_change(const ListingRecord& record, const Listing& now,
                                      const std::function<Result<void>(ObjectChange)>& tell) {
  MILLRACE_ASSIGN(const std::string packed, read(record));
  bool told = true;
  auto done = s3_source::each_change(packed, now, [&](ObjectChange change) {
    auto result = tell(std::move(change));
    told = result.has_value();
    return result;
  });
  if (done || !told) return done;
  return fail(unusable(record, fmt::format("cannot be understood ({})", done.error().message())));
}

/// The bytes that `record` names, and no others.
Result<std::string> KeptListing::read(const ListingRecord& record) {
  auto got = store_->get(std::string(folder_of(manifest_key_)) + record.name, record.bytes,
                         long_enough(timeout_, record.bytes));
  if (!got) {
    switch (got.error().code()) {
      case ErrorCode::not_found:
        return fail(unusable(record, "is gone"));
      case ErrorCode::too_large:
        return fail(unusable(record, fmt::format("has more than the {} bytes that were written: it is not this "
                                                 "backfill's",
                                                 record.bytes)));
      default:
        return fail(unusable(record, fmt::format("cannot be read ({})", got.error().message())));
    }
  }
  const std::uint64_t hash = hash_bytes(got->bytes);
  if (got->bytes.size() != record.bytes || hash != record.hash) {
    return fail(unusable(record, fmt::format("is damaged or not this backfill's ({} bytes with hash {}, and {} with {} "
                                             "were written)",
                                             got->bytes.size(), to_hex(hash), record.bytes, to_hex(record.hash))));
  }
  return std::move(got->bytes);
}

Error KeptListing::unusable(const ListingRecord& record, std::string_view why) const {
  return Error::fatal(ErrorCode::manifest,
                      fmt::format("the kept listing {} {}, so which objects changed cannot be told; the position "
                                  "in the manifest is checked without it",
                                  url_of(record), why));
}

std::string KeptListing::url_of(const ListingRecord& record) const {
  return std::string(folder_of(url_)) + printable(record.name);
}

}  // namespace millrace::s3_source
