// SPDX-License-Identifier: Apache-2.0
// KeptListing: the listing that a backfill began with, in an object beside its manifest, so that drift can be told
// object by object. An aid: without it positions are checked all the same. Blocks; one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "connectors/s3/manifest.h"
#include "connectors/s3/packed_listing.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_source {

/// "a/backfill.json" has "a/backfill.listing.zst".
[[nodiscard]] std::string listing_key(std::string_view manifest_key);

class KeptListing {
 public:
  /// `url`: the manifest's, for messages.
  KeptListing(std::shared_ptr<ObjectStore> store, std::string manifest_key, std::string url, Duration timeout)
      : store_(std::move(store)), manifest_key_(std::move(manifest_key)), url_(std::move(url)), timeout_(timeout) {}

  /// Writes it, over whatever lies there. To be called by the manifest's owner, while the manifest names none; what is
  /// returned goes into the manifest, and only then does the listing count. One try.
  [[nodiscard]] Result<StoredRecord> write(const Listing& listing);
  /// What has changed since it was written. Fails (manifest) when what `record` names is missing, damaged or somebody
  /// else's, and else as the store does, which says nothing of it. One try.
  [[nodiscard]] Result<ListingDifference> changes(const StoredRecord& record, const Listing& now);
  /// The same, change by change. Fails with what `tell` fails with, too.
  [[nodiscard]] Result<void> each_change(const StoredRecord& record, const Listing& now,
                                         const std::function<Result<void>(ObjectChange)>& tell);

 private:
  [[nodiscard]] Error unusable(std::string_view key, std::string_view why) const;
  [[nodiscard]] std::string url_of(std::string_view key) const;

  const std::shared_ptr<ObjectStore> store_;
  const std::string manifest_key_;
  const std::string url_;
  const Duration timeout_;
};

}  // namespace millrace::s3_source
