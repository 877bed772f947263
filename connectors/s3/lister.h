// SPDX-License-Identifier: Apache-2.0
// Lister: asks the store for every page under a prefix and makes a Listing of them. Runs on one I/O thread; progress
// and stop come from any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "connectors/s3/key_filter.h"
#include "connectors/s3/listing.h"
#include "connectors/s3/object_limits.h"
#include "connectors/s3/retry_policy.h"
#include "connectors/s3/shard.h"
#include "millrace/base/log.h"
#include "millrace/base/stop_signal.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_source {

class Lister {
 public:
  struct Request {
    std::string url;     ///< for messages
    std::string prefix;  ///< a string, not a folder
    std::string start_after;
    const KeyFilter* filter = nullptr;
    const ObjectLimits* limits = nullptr;
    std::optional<Shard> shard;  ///< the listing has only its keys
  };
  Lister(ObjectStore& store, Request request, RetryPolicy retry, Clock& clock, Random& random, Logger log,
         StopSignal& stop);

  /// All pages, each retried while it may pass. Fails (cancelled) after a stop, (bad_response) when the pages would
  /// never end (PageTrail); every error names the page. Never a part of a listing.
  [[nodiscard]] Result<Listing> run();

  /// With a shard, after run(): what was listed for all shards.
  [[nodiscard]] const WholeListing& whole() const noexcept { return whole_; }
  /// How long the fastest page took: how far away the store is. Zero before the first.
  [[nodiscard]] Duration fastest_page() const noexcept { return fastest_page_; }

  // Any thread, while run() goes on.
  [[nodiscard]] std::uint64_t keys_so_far() const noexcept { return keys_.load(memory_order_relaxed); }
  [[nodiscard]] std::uint64_t pages_so_far() const noexcept { return pages_.load(memory_order_relaxed); }

 private:
  Result<ListPage> page(const ListRequest& request);
  Result<void> take(const ListPage& page, ListingBuilder& builder);

  ObjectStore& store_;
  const Request request_;
  const RetryPolicy retry_;
  Clock& clock_;
  Random& random_;
  Logger log_;
  StopSignal& stop_;
  WholeListing whole_;
  Duration fastest_page_{0};
  Atomic<std::uint64_t> keys_{0};
  Atomic<std::uint64_t> pages_{0};
};

/// A14: what a prefix without a slash at its end also matches, for a warning: "data/v10/, data/v1-old/". Empty when
/// there is nothing to warn of.
[[nodiscard]] std::string sibling_prefixes(const Listing& listing, std::string_view prefix);

}  // namespace millrace::s3_source
