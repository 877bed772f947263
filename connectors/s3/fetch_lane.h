// SPDX-License-Identifier: Apache-2.0
// FetchLane: how far the fetch loop is with one lane: the place of its next read, the reads under way in the order of
// their bytes, and the feed that they end in. Belongs to the fetch loop's baton; the place to the lane itself as long
// as it reads for itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "connectors/s3/lane_feed.h"
#include "connectors/s3/listing.h"
#include "connectors/s3/object_read.h"
#include "connectors/s3/read_chunks.h"
#include "connectors/s3/read_failure.h"
#include "connectors/s3/route.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"

namespace millrace::s3_source {

struct FetchLane {
  FetchLane(std::uint64_t the_index, LaneRoute the_route);

  const std::uint64_t index;
  const std::unique_ptr<LaneFeed> feed = std::make_unique<LaneFeed>();
  Atomic<bool> paused{false};   // any thread
  Atomic<bool> at_once{false};  // the lane reads for itself

  LaneRoute route;                                // the next read is of the object here,
  std::uint64_t offset = 0;                       // from this byte
  std::deque<std::unique_ptr<ObjectRead>> reads;  // the front is handed over next
  std::uint64_t charged = 0;                      // since the beginning
  bool failed = false;
  std::optional<std::uint64_t> resumed;  // records of this object were committed before
  std::optional<std::uint64_t> skipped;  // what is still under way up to this object is dropped; rising

  [[nodiscard]] std::uint64_t held() const noexcept { return charged - feed->released(); }
  [[nodiscard]] bool may_read() const { return !paused.load() && !failed; }
  [[nodiscard]] ListedObject object(std::uint64_t ordinal) const { return route.object(ordinal); }

  /// Goes to the next object that has bytes to read; false when the lane has none left.
  bool settle();
  /// How long the read at the settled place is.
  [[nodiscard]] std::size_t next_length(const ReadChunks& chunks) const;
  /// The read at the settled place, behind those under way.
  ObjectRead& begin(const ReadChunks& chunks, const RetryPolicy& retry, Random& random);
  /// The first read that waits for its next try, if its time has come.
  [[nodiscard]] ObjectRead* due_retry(SteadyTime now);
  [[nodiscard]] SteadyTime earliest_retry() const;
  [[nodiscard]] Taken taken_of(const ObjectRead& read) const;
  /// Nothing more of this object, nor of those before it.
  void skip(std::uint64_t object);
  [[nodiscard]] bool skips(const ObjectRead& read) const { return skipped && read.ordinal <= *skipped; }
  /// The read that is handed over next is done. Where the listing pins no version, the object's reads must at least be
  /// of one: the ETag of those before when this one came with another.
  [[nodiscard]] std::optional<std::string> other_version(const ObjectRead& read);

 private:
  std::optional<std::uint64_t> versioned_;  // this object's first read
  std::string version_;                     // came with this ETag
};

}  // namespace millrace::s3_source
