// SPDX-License-Identifier: Apache-2.0
// FetchLoop: row 1 of the data's way. One I/O thread reads every lane's objects ahead of it, in ranges, and hands them
// over in order. It only starts reads and takes their ends; the store's own threads move the bytes.
//
// Bounds (INV-7): bytes read ahead and not yet released stay within lanes x prefetch_bytes, and reads under way within
// requests_in_flight; a lane with nothing out may always have one read. One chunk per lane, the one being framed, comes
// on top. The bound suffices: reads of a lane start in the order in which it needs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "connectors/s3/lane_feed.h"
#include "connectors/s3/listing.h"
#include "connectors/s3/metrics.h"
#include "connectors/s3/object_read.h"
#include "connectors/s3/offset.h"
#include "connectors/s3/retry_policy.h"
#include "millrace/base/log.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_source {

/// Room in front of a chunk for the beginning of a record that the chunk before cut.
inline constexpr std::size_t kChunkHeadroom = std::size_t{16} << 10U;

class FetchLoop {
 public:
  struct Options {
    std::uint64_t lanes = 1;
    std::size_t prefetch_bytes = std::size_t{8} << 20U;  ///< of each lane
    std::size_t chunk_bytes = std::size_t{512} << 10U;
    std::size_t requests_in_flight = 64;
    bool skip_archived = false;
    RetryPolicy retry;
    std::string url;  ///< what a key is put behind in messages: "s3://bucket/"
  };
  /// `starts`: where each lane begins, by lane. Nothing is read before start().
  FetchLoop(std::shared_ptr<ObjectStore> store, std::shared_ptr<const Listing> listing, std::vector<Position> starts,
            Options options, SourceMetrics metrics, Clock& clock, Random& random, Logger log);
  ~FetchLoop();
  FetchLoop(const FetchLoop&) = delete;
  FetchLoop& operator=(const FetchLoop&) = delete;

  void start();
  /// Ends what is under way and the thread. Feeds keep what they hold.
  void stop();
  /// A paused lane starts no reads; those under way end, as they hold no more than its share. Any thread.
  void pause(std::uint64_t lane, bool paused);

  [[nodiscard]] LaneFeed& feed(std::uint64_t lane) { return *lanes_[lane].feed; }
  /// Size of one ranged read of a large object.
  [[nodiscard]] std::size_t read_bytes() const noexcept { return read_bytes_; }

 private:
  struct Lane {
    std::unique_ptr<LaneFeed> feed;
    Atomic<bool> paused{false};
    // The rest belongs to the loop's thread.
    std::uint64_t ordinal = 0;  // the next read is of this object,
    std::uint64_t offset = 0;   // from this byte
    std::uint64_t objects = 0;
    std::deque<std::unique_ptr<ObjectRead>> reads;  // in the order of their bytes; the front is handed over next
    std::uint64_t charged = 0;                      // since the beginning
    bool failed = false;
    std::optional<std::uint64_t> skipped;  // what is still under way of this object is dropped
    ReadInfo first;                        // what the object in hand-over said with its first piece
    [[nodiscard]] std::uint64_t held() const noexcept { return charged - feed->released(); }
  };
  struct Ended {
    ObjectRead* read;
    ReadOutcome outcome;
  };

  void run();
  void take_ended();
  void settle(ObjectRead& read, ReadOutcome outcome);
  void fail_or_retry(ObjectRead& read, Error error);
  [[nodiscard]] Error final_error(const ObjectRead& read, Error error);
  [[nodiscard]] std::optional<Error> changed_between(const ObjectRead& read) const;
  void hand_over(Lane& lane);
  void skip_object(Lane& lane, const ObjectRead& read);

  bool start_due_retry();
  bool start_next_read();
  bool settle_place(Lane& lane, std::uint64_t index);
  [[nodiscard]] bool is_large(std::size_t length) const noexcept { return length > read_bytes_ / 2; }
  [[nodiscard]] std::size_t charge_of(std::size_t length) const noexcept;
  [[nodiscard]] bool may_read(const Lane& lane, std::size_t charge, std::uint64_t share) const;
  [[nodiscard]] std::uint64_t share_of_a_lane();
  void begin(Lane& lane, std::uint64_t index);
  void send(ObjectRead& read);
  [[nodiscard]] SteadyTime next_retry() const;
  [[nodiscard]] ListedObject object(const ObjectRead& read) const {
    return listing_->object_of_lane(read.lane, options_.lanes, read.ordinal);
  }
  [[nodiscard]] std::string name(const ObjectRead& read) const;

  const std::shared_ptr<ObjectStore> store_;
  const std::shared_ptr<const Listing> listing_;
  const Options options_;
  SourceMetrics metrics_;
  Clock& clock_;
  Random& random_;
  const Logger log_;
  const std::size_t read_bytes_;
  const std::size_t most_in_flight_;
  const std::shared_ptr<ChunkPool> pool_;

  EventCount event_;  // a read ended, bytes were released, a lane was paused or resumed, stop
  Atomic<bool> stopping_{false};
  Mutex mutex_;
  std::vector<Ended> ended_ MILLRACE_GUARDED_BY(mutex_);

  // The loop's thread.
  std::vector<Lane> lanes_;
  std::vector<Ended> taken_;  // scratch
  std::size_t in_flight_ = 0;
  std::size_t limit_;  // reads at once; halves when the store throttles, grows back with each success
  SteadyTime hold_until_ = SteadyTime::min();  // no new read before: the store is away
  std::size_t waiting_ = 0;                    // reads that wait for their next try
  std::uint64_t turn_ = 0;                     // the lane whose turn it is
  std::uint64_t warned_ = 0;                   // error codes already said at warn
  Thread thread_;
};

}  // namespace millrace::s3_source
