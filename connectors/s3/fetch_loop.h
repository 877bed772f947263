// SPDX-License-Identifier: Apache-2.0
// FetchLoop: row 1 of the data's way. Reads every lane's objects ahead of it, in ranges, and hands them over in order.
// It only starts reads and takes their ends; the store's own threads move the bytes.
//
// Threads: an event (a read ended, a lane gave bytes back) is worked on by the thread that brings it, one at a time
// (Baton), so that on a busy machine the next read does not wait for another thread to wake up. What may block (a
// failed read, the wait before its next try) is left to the loop's own thread. Where the store has the bytes in memory
// (files in the page cache) a lane copies them itself, into its own core's cache, and the loop sleeps.
//
// Bounds (INV-7): bytes read ahead and not yet released stay within lanes x prefetch_bytes, and reads under way within
// requests_in_flight; a lane with nothing out may always have one read. One chunk per lane, the one being framed, comes
// on top. The bound suffices: reads of a lane start in the order in which it needs them. From a store that is near, a
// part of that is enough, and costs less: the same few chunks stay in the processor's cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "connectors/s3/baton.h"
#include "connectors/s3/lane_feed.h"
#include "connectors/s3/latency_window.h"
#include "connectors/s3/listing.h"
#include "connectors/s3/metrics.h"
#include "connectors/s3/object_read.h"
#include "connectors/s3/offset.h"
#include "connectors/s3/read_failure.h"
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
    bool frozen = false;  ///< no object may change between runs, not even one that was not begun
    RetryPolicy retry;
    std::string url;                                       ///< what a key is put behind in messages: "s3://bucket/"
    Duration first_latency{0};                             ///< of the store, from the listing; zero: not known
    Duration near_latency = std::chrono::milliseconds(8);  ///< a store that answers sooner is near
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

  // A lane's thread.
  [[nodiscard]] LaneFeed& feed(std::uint64_t lane) { return *lanes_[lane].feed; }
  /// A piece's bytes are done with.
  void release(std::uint64_t lane, std::size_t charge);
  /// For a lane whose feed is empty: its next piece, read there and then because it is in memory already. Nothing when
  /// the loop reads ahead for this lane: from the first piece on that is not, for good.
  [[nodiscard]] std::optional<Piece> read_at_once(std::uint64_t lane);

  /// Size of one ranged read of a large object.
  [[nodiscard]] std::size_t read_bytes() const noexcept { return read_bytes_; }

 private:
  struct Lane {
    std::unique_ptr<LaneFeed> feed;
    Atomic<bool> paused{false};
    Atomic<bool> at_once{false};  // the lane reads for itself
    // The rest belongs to the baton's holder, the place to the lane as long as it reads for itself.
    std::uint64_t ordinal = 0;  // the next read is of this object,
    std::uint64_t offset = 0;   // from this byte
    std::uint64_t objects = 0;
    std::deque<std::unique_ptr<ObjectRead>> reads;  // in the order of their bytes; the front is handed over next
    std::uint64_t charged = 0;                      // since the beginning
    bool failed = false;
    std::optional<std::uint64_t> skipped;  // what is still under way of this object is dropped
    std::optional<std::uint64_t> resumed;  // records of this object were committed before
    [[nodiscard]] std::uint64_t held() const noexcept { return charged - feed->released(); }
  };
  struct Ended {
    ObjectRead* read;
    ReadOutcome outcome;
  };

  void run();
  void pump() {
    baton_.run([this] { work(); });
  }
  void pump_own();
  void work();
  void cancel_reads();
  void end_reads();

  // Ends.
  void take_ended();
  void succeed(ObjectRead& read, ReadInfo info);
  void fail_or_retry(ObjectRead& read, Error error);
  void ask_what_is_there(ObjectRead& read, Error error);
  void hand_over(Lane& lane);
  void skip_object(Lane& lane, const ObjectRead& read);

  // Beginnings.
  bool start_due_retry();
  bool start_next_read();
  [[nodiscard]] bool may_start(std::size_t length) const;
  [[nodiscard]] bool near() const { return latency_.least() < options_.near_latency; }
  [[nodiscard]] std::uint64_t share_of_a_lane();
  bool settle_place(Lane& lane, std::uint64_t index);
  void begin(Lane& lane, std::uint64_t index);
  void send(ObjectRead& read);
  void send(ObjectRead& read, ReadRequest request);
  [[nodiscard]] static ReadRequest request_for(const ListedObject& listed, std::uint64_t offset);
  [[nodiscard]] ByteChunk take_chunk(std::size_t length, std::uint64_t offset);
  [[nodiscard]] bool is_large(std::size_t length) const noexcept { return length > read_bytes_ / 2; }
  [[nodiscard]] std::size_t charge_of(std::size_t length) const noexcept;
  [[nodiscard]] SteadyTime next_retry() const;

  [[nodiscard]] ListedObject object(const ObjectRead& read) const {
    return listing_->object_of_lane(read.lane, options_.lanes, read.ordinal);
  }
  [[nodiscard]] std::string name(const ObjectRead& read) const;
  [[nodiscard]] Taken taken_of(const ObjectRead& read) const;

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

  EventCount event_;  // the loop's own thread has something to do
  Atomic<bool> stopping_{false};
  Mutex mutex_;
  std::vector<Ended> ended_ MILLRACE_GUARDED_BY(mutex_);
  std::size_t callbacks_ MILLRACE_GUARDED_BY(mutex_) = 0;  // of the store, within this object

  // The baton's holder.
  Baton baton_;
  std::vector<Lane> lanes_;
  std::vector<Ended> taken_;   // scratch
  std::vector<Ended> failed_;  // for the loop's own thread
  Atomic<std::size_t> in_flight_{0};
  std::size_t bytes_in_flight_ = 0;
  std::size_t limit_;  // reads at once; halves when the store is away, grows back with each success
  SteadyTime hold_until_ = SteadyTime::min();  // no new read before: the store is away
  std::size_t waiting_ = 0;                    // reads that wait for their next try
  std::uint64_t turn_ = 0;                     // the lane whose turn it is
  LatencyWindow latency_;

  // The loop's own thread, holding the baton.
  SteadyTime next_retry_{};
  std::uint64_t warned_ = 0;  // error codes already said at warn
  Thread thread_;
};

}  // namespace millrace::s3_source
