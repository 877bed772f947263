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
#include <memory>
#include <vector>

#include "connectors/s3/baton.h"
#include "connectors/s3/etag_form.h"
#include "connectors/s3/fetch_lane.h"
#include "connectors/s3/lane_feed.h"
#include "connectors/s3/latency_window.h"
#include "connectors/s3/metrics.h"
#include "connectors/s3/object_read.h"
#include "connectors/s3/read_chunks.h"
#include "connectors/s3/read_failure.h"
#include "connectors/s3/retry_policy.h"
#include "connectors/s3/route.h"
#include "millrace/base/log.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_source {

class FetchLoop {
 public:
  struct Options {
    std::uint64_t lanes = 1;
    std::size_t prefetch_bytes = std::size_t{8} << 20U;  ///< of each lane
    std::size_t chunk_bytes = std::size_t{512} << 10U;
    std::size_t requests_in_flight = 64;
    bool skip_archived = false;
    bool quarantine = false;  ///< a faulty object ends its own reads, not its lane's
    bool frozen = false;      ///< no object may change between runs, not even one that was not begun
    RetryPolicy retry;
    std::string url;                                       ///< what a key is put behind in messages: "s3://bucket/"
    Duration first_latency{0};                             ///< of the store, from the listing; zero: not known
    Duration near_latency = std::chrono::milliseconds(8);  ///< a store that answers sooner is near
  };
  /// `routes`: what each lane reads, by lane. Nothing is read before start().
  FetchLoop(std::shared_ptr<ObjectStore> store, std::vector<LaneRoute> routes, Options options, SourceMetrics metrics,
            Clock& clock, Random& random, Logger log);
  ~FetchLoop();
  FetchLoop(const FetchLoop&) = delete;
  FetchLoop& operator=(const FetchLoop&) = delete;

  void start();
  /// Ends what is under way and the thread. Feeds keep what they hold.
  void stop();
  /// A paused lane starts no reads; those under way end, as they hold no more than its share. Any thread.
  void pause(std::uint64_t lane, bool paused);

  // A lane's thread.
  [[nodiscard]] LaneFeed& feed(std::uint64_t lane) { return *lanes_[lane]->feed; }
  /// A piece's bytes are done with.
  void release(std::uint64_t lane, std::size_t charge);
  /// For a lane whose feed is empty: its next piece, read there and then because it is in memory already. Nothing when
  /// the loop reads ahead for this lane: from the first piece on that is not, for good.
  [[nodiscard]] std::optional<Piece> read_at_once(std::uint64_t lane);
  /// The lane takes no more of the object that it is reading: what is under way of it is dropped, and given back to the
  /// budget. What is in the feed already is the lane's to release.
  void skip(std::uint64_t lane, std::uint64_t ordinal);

  /// Size of one ranged read of a large object.
  [[nodiscard]] std::size_t read_bytes() const noexcept { return chunks_.read_bytes(); }

 private:
  struct Ended {
    ObjectRead* read;
    ReadOutcome outcome;
  };
  struct Skip {
    std::uint64_t lane;
    std::uint64_t ordinal;
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
  void take_what_is_there(ObjectRead& read, const ReadOutcome& outcome);
  [[nodiscard]] bool respell(ObjectRead& read, const ETag& now);
  void hand_over(FetchLane& lane);
  void skip_object(FetchLane& lane, const ObjectRead& read);
  void drop(FetchLane& lane, std::uint64_t ordinal);

  // Beginnings.
  bool start_due_retry();
  bool start_next_read();
  [[nodiscard]] bool may_start(std::size_t length) const;
  [[nodiscard]] bool near() const { return latency_.least() < options_.near_latency; }
  [[nodiscard]] std::uint64_t share_of_a_lane();
  void send(ObjectRead& read);
  void send(ObjectRead& read, ReadRequest request);
  [[nodiscard]] static ReadRequest request_for(const ListedObject& listed, std::uint64_t offset, TagForm form);
  [[nodiscard]] SteadyTime next_retry() const;

  [[nodiscard]] ListedObject object(const ObjectRead& read) const { return lanes_[read.lane]->object(read.ordinal); }
  [[nodiscard]] bool listed_pins(const ObjectRead& read) const { return ETag{std::string(object(read).etag)}.pins(); }
  [[nodiscard]] std::string name(const ObjectRead& read) const;
  [[nodiscard]] Taken taken_of(const ObjectRead& read) const {
    const FetchLane& lane = *lanes_[read.lane];
    // A retry leaves what it does not read where it is.
    if (options_.quarantine || lane.route.is_retry()) return Taken::set_aside;
    return options_.frozen ? Taken::committed : lane.taken_of(read);
  }

  const std::shared_ptr<ObjectStore> store_;
  const Options options_;
  SourceMetrics metrics_;
  Clock& clock_;
  Random& random_;
  const Logger log_;
  const ReadChunks chunks_;
  const std::size_t most_in_flight_;

  EventCount event_;  // the loop's own thread has something to do
  Atomic<bool> stopping_{false};
  Mutex mutex_;
  std::vector<Ended> ended_ MILLRACE_GUARDED_BY(mutex_);
  std::vector<Skip> skips_ MILLRACE_GUARDED_BY(mutex_);
  std::size_t callbacks_ MILLRACE_GUARDED_BY(mutex_) = 0;  // of the store, within this object

  // The baton's holder.
  Baton baton_;
  std::vector<std::unique_ptr<FetchLane>> lanes_;
  std::vector<Ended> taken_;    // scratch
  std::vector<Skip> skipping_;  // scratch
  std::vector<Ended> failed_;   // for the loop's own thread
  Atomic<std::size_t> in_flight_{0};
  Atomic<TagForm> tag_form_{TagForm::as_listed};  // read by a lane that reads for itself
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
