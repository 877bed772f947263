// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/fetch_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

// What a read costs beside its bytes; keeps a lane of one-byte objects from having millions of them out.
constexpr std::size_t kReadOverhead = 512;
// One ranged read of a large object asks for at most so many chunks.
constexpr std::size_t kChunksPerRead = 4;
// The first read of an object shows at least what tells a codec.
constexpr std::size_t kLeastRead = 16;

std::size_t read_size(const FetchLoop::Options& options, const ReadAdvice& advice) {
  const std::size_t most = std::min(kChunksPerRead * options.chunk_bytes, options.prefetch_bytes / 2);
  return std::max({kLeastRead, options.chunk_bytes, std::min(advice.read_bytes, most)});
}

}  // namespace

FetchLoop::FetchLoop(std::shared_ptr<ObjectStore> store, std::shared_ptr<const Listing> listing,
                     std::vector<Position> starts, Options options, SourceMetrics metrics, Clock& clock, Random& random,
                     Logger log)
    : store_(std::move(store)),
      listing_(std::move(listing)),
      options_(std::move(options)),
      metrics_(std::move(metrics)),
      clock_(clock),
      random_(random),
      log_(std::move(log)),
      read_bytes_(read_size(options_, store_->read_advice())),
      most_in_flight_(
          std::max<std::size_t>(1, std::min(options_.requests_in_flight, store_->read_advice().reads_in_flight))),
      pool_(ChunkPool::make(read_bytes_, kChunkHeadroom, options_.lanes * (options_.prefetch_bytes / read_bytes_ + 1))),
      lanes_(options_.lanes),
      limit_(most_in_flight_) {
  for (std::uint64_t i = 0; i < options_.lanes; ++i) {
    lanes_[i].feed = std::make_unique<LaneFeed>(event_);
    lanes_[i].objects = listing_->objects_of_lane(i, options_.lanes);
    lanes_[i].ordinal = starts[i].ordinal + (starts[i].object_complete() ? 1 : 0);
  }
}

FetchLoop::~FetchLoop() { stop(); }

void FetchLoop::start() {
  thread_ = Thread("s3-fetch", [this] { run(); });
}

void FetchLoop::stop() {
  stopping_.store(true, memory_order_release);
  event_.signal();
  thread_.join();
}

void FetchLoop::pause(std::uint64_t lane, bool paused) {
  lanes_[lane].paused.store(paused, memory_order_release);
  event_.signal();
}

void FetchLoop::run() {
  while (!stopping_.load(memory_order_acquire)) {
    const EventCount::Ticket ticket = event_.ticket();
    take_ended();
    // One at a time: a store may read within the call, and what it has read should not wait for the reads after it.
    if (start_due_retry() || start_next_read()) continue;
    event_.wait_until(ticket, clock_, next_retry());
  }
  for (const Lane& lane : lanes_) {
    for (const auto& read : lane.reads) {
      if (read->handle) read->handle->cancel();
    }
  }
  // The store writes into the chunks until it has said that it is done.
  while (in_flight_ > 0) {
    const EventCount::Ticket ticket = event_.ticket();
    take_ended();
    if (in_flight_ > 0) event_.wait_until(ticket, clock_, clock_.now() + std::chrono::seconds(1));
  }
}

void FetchLoop::take_ended() {
  {
    const MutexLock lock(mutex_);
    taken_.swap(ended_);
  }
  for (Ended& ended : taken_) {
    Lane& lane = lanes_[ended.read->lane];
    settle(*ended.read, std::move(ended.outcome));
    hand_over(lane);
  }
  taken_.clear();
}

/// A try has ended.
void FetchLoop::settle(ObjectRead& read, ReadOutcome outcome) {
  --in_flight_;
  read.handle.reset();
  metrics_.bytes_read.add(outcome.received);
  read.received += outcome.received;
  if (outcome.received > 0) read.tries.progress();
  if (!outcome.info) return fail_or_retry(read, std::move(outcome.info).error());
  read.info = *std::move(outcome.info);
  if (auto changed = changed_between(read)) {
    read.state = ObjectRead::State::failed;
    read.error = std::move(changed);
    return;
  }
  read.chunk.set_size(read.length);
  read.state = ObjectRead::State::done;
  if (limit_ < most_in_flight_) ++limit_;
  hold_until_ = SteadyTime::min();
}

void FetchLoop::fail_or_retry(ObjectRead& read, Error error) {
  const SteadyTime now = clock_.now();
  const std::optional<Duration> wait =
      stopping_.load(memory_order_relaxed) ? std::nullopt : read.tries.next(error, now);
  if (!wait) {
    read.state = ObjectRead::State::failed;
    read.error = final_error(read, std::move(error));
    return;
  }
  // Without a pin nothing proves that the rest would belong to what has been received; and where all has been received
  // without success there is no rest to ask for.
  if (!ETag{std::string(object(read).etag)}.pins() || read.received == read.length) read.received = 0;
  if (store_is_away(error)) {
    limit_ = std::max<std::size_t>(1, limit_ / 2);
    hold_until_ = std::max(hold_until_, now + *wait);
  }
  metrics_.get_retries.add();
  const std::uint64_t kind = std::uint64_t{1} << static_cast<unsigned>(error.code());
  log_.log((warned_ & kind) == 0 ? LogLevel::warn : LogLevel::debug, "a read failed and is tried again",
           {{"object", name(read)},
            {"from_byte", fmt::format("{}", read.offset + read.received)},
            {"in_ms", fmt::format("{}", wait->count() / 1000000)},
            {"error", error.describe()}});
  warned_ |= kind;
  read.state = ObjectRead::State::waiting;
  read.retry_at = now + *wait;
  ++waiting_;
}

/// Says what became of the object, for the one who has to put it right.
Error FetchLoop::final_error(const ObjectRead& read, Error error) {
  const ListedObject listed = object(read);
  switch (error.code()) {
    case ErrorCode::not_found:
      return Error::fatal(
                 ErrorCode::drift,
                 fmt::format("object '{}' was deleted after it was listed; the objects must not change during a "
                             "backfill. Put it back, or start over with --reset",
                             name(read)))
          .with("store", error.describe());
    case ErrorCode::precondition_failed: {
      const auto now = store_->head(listed.key);
      return Error::fatal(
                 ErrorCode::drift,
                 fmt::format("object '{}' was overwritten after it was listed: its ETag was {} and is {} now; "
                             "nothing of the new version was taken. Put the old one back, or start over with "
                             "--reset",
                             name(read), printable(listed.etag), now ? printable(now->info.etag.value) : "not known"))
          .with("store", error.describe());
    }
    case ErrorCode::cancelled:
      return error;
    default: {
      const std::string after = read.tries.failed() > 1 ? fmt::format(", {} tries in a row", read.tries.failed()) : "";
      return std::move(error)
          .prefixed(fmt::format("object '{}', bytes {} to {}{}: ", name(read), read.offset + read.received,
                                read.offset + read.length - 1, after))
          .as(ErrorClass::fatal);
    }
  }
}

/// Reads of one object that no ETag pins must at least agree in what the store says of it.
std::optional<Error> FetchLoop::changed_between(const ObjectRead& read) const {
  const ListedObject listed = object(read);
  if (ETag{std::string(listed.etag)}.pins()) return std::nullopt;
  const bool whole = read.offset == 0 && read.last;
  if (!whole && listed.etag.empty() && read.info.last_modified == kNoTimestamp) {
    return Error::fatal(
        ErrorCode::drift,
        fmt::format("object '{}' needs more than one read, and the store gives neither an ETag nor a time "
                    "of change, so nothing proves that they belong together",
                    name(read)));
  }
  const bool same_tag = read.info.etag.value == listed.etag;
  const bool same_time = listed.last_modified == kNoTimestamp || read.info.last_modified == kNoTimestamp ||
                         // HTTP dates have seconds
                         listed.last_modified / 1000000 == read.info.last_modified / 1000000;
  if (same_tag && same_time) return std::nullopt;
  return Error::fatal(
      ErrorCode::drift,
      fmt::format("object '{}' was overwritten after it was listed (ETag {} and {}, changed {} and {}). Put "
                  "the old one back, or start over with --reset",
                  name(read), printable(listed.etag), printable(read.info.etag.value), to_rfc3339(listed.last_modified),
                  to_rfc3339(read.info.last_modified)));
}

/// Gives the lane what is complete and next in order.
void FetchLoop::hand_over(Lane& lane) {
  while (!lane.reads.empty() && !lane.failed) {
    ObjectRead& read = *lane.reads.front();
    const bool ended = read.state == ObjectRead::State::done || read.state == ObjectRead::State::failed;
    if (!ended) return;
    Piece piece{.ordinal = read.ordinal, .offset = read.offset, .last = read.last, .charge = read.charge};
    if (lane.skipped == read.ordinal) {
      lane.feed->release(read.charge);
    } else if (read.state == ObjectRead::State::done) {
      piece.bytes = std::move(read.chunk);
      if (read.offset == 0) piece.content_encoding = std::move(read.info.content_encoding);
      lane.feed->put(std::move(piece));
    } else if (options_.skip_archived && read.offset == 0 && object(read).kind == ObjectKind::archived &&
               read.error->code() != ErrorCode::cancelled) {
      skip_object(lane, read);
    } else {
      piece.error = std::move(read.error);
      lane.failed = true;
      lane.feed->put(std::move(piece));
    }
    lane.reads.pop_front();
  }
}

void FetchLoop::skip_object(Lane& lane, const ObjectRead& read) {
  log_.warn("skipping an archived object that is not restored, as on_archived: skip asks",
            {{"object", name(read)}, {"error", read.error->message()}});
  lane.skipped = read.ordinal;
  if (lane.ordinal == read.ordinal) {
    ++lane.ordinal;
    lane.offset = 0;
  }
  lane.feed->put({.ordinal = read.ordinal, .last = true, .charge = read.charge, .skipped = true});
}

bool FetchLoop::start_due_retry() {
  if (waiting_ == 0 || in_flight_ >= limit_) return false;
  const SteadyTime now = clock_.now();
  for (Lane& lane : lanes_) {
    if (lane.paused.load(memory_order_acquire) || lane.failed) continue;
    for (const auto& read : lane.reads) {
      if (read->state == ObjectRead::State::waiting && read->retry_at <= now) {
        --waiting_;
        send(*read);
        return true;
      }
    }
  }
  return false;
}

SteadyTime FetchLoop::next_retry() const {
  SteadyTime next = clock_.now() + std::chrono::hours(1);
  if (in_flight_ >= limit_) return next;
  if (hold_until_ != SteadyTime::min()) next = hold_until_;
  if (waiting_ == 0) return next;
  for (const Lane& lane : lanes_) {
    if (lane.paused.load(memory_order_acquire) || lane.failed) continue;
    for (const auto& read : lane.reads) {
      if (read->state == ObjectRead::State::waiting) next = std::min(next, read->retry_at);
    }
  }
  return next;
}

/// Goes to the next object that has bytes to read; false when the lane has none left.
bool FetchLoop::settle_place(Lane& lane, std::uint64_t index) {
  for (; lane.ordinal < lane.objects; ++lane.ordinal, lane.offset = 0) {
    const ListedObject next = listing_->object_of_lane(index, options_.lanes, lane.ordinal);
    if (next.has_bytes() && lane.offset < next.size) return true;
  }
  return false;
}

/// The pool belongs to the lanes that have something left to fetch, in equal parts; what the others still hold is gone
/// from it for now.
std::uint64_t FetchLoop::share_of_a_lane() {
  std::uint64_t pool = options_.lanes * options_.prefetch_bytes;
  std::uint64_t active = 0;
  for (std::uint64_t i = 0; i < options_.lanes; ++i) {
    Lane& lane = lanes_[i];
    if (!lane.failed && settle_place(lane, i)) {
      ++active;
    } else {
      pool -= std::min(pool, lane.held());
    }
  }
  return pool / std::max<std::uint64_t>(active, 1);
}

bool FetchLoop::may_read(const Lane& lane, std::size_t charge, std::uint64_t share) const {
  const std::uint64_t held = lane.held();
  return held == 0 || held + charge <= share;
}

/// Large reads share recycled chunks and count as one; a small object takes, and counts, what it needs and no more.
std::size_t FetchLoop::charge_of(std::size_t length) const noexcept {
  return (is_large(length) ? read_bytes_ : length) + kReadOverhead;
}

bool FetchLoop::start_next_read() {
  if (in_flight_ >= limit_) return false;
  if (hold_until_ != SteadyTime::min() && clock_.now() < hold_until_) return false;
  hold_until_ = SteadyTime::min();
  const std::uint64_t share = share_of_a_lane();
  for (std::uint64_t i = 0; i < options_.lanes; ++i) {
    const std::uint64_t index = (turn_ + i) % options_.lanes;
    Lane& lane = lanes_[index];
    if (lane.failed || lane.ordinal >= lane.objects || lane.paused.load(memory_order_acquire)) continue;
    const ListedObject next = listing_->object_of_lane(index, options_.lanes, lane.ordinal);
    const std::size_t length = std::min<std::uint64_t>(read_bytes_, next.size - lane.offset);
    if (!may_read(lane, charge_of(length), share)) continue;
    begin(lane, index);
    turn_ = (index + 1) % options_.lanes;
    return true;
  }
  return false;
}

void FetchLoop::begin(Lane& lane, std::uint64_t index) {
  const ListedObject next = listing_->object_of_lane(index, options_.lanes, lane.ordinal);
  auto read = std::make_unique<ObjectRead>(options_.retry, random_);
  read->lane = index;
  read->ordinal = lane.ordinal;
  read->offset = lane.offset;
  read->length = std::min<std::uint64_t>(read_bytes_, next.size - lane.offset);
  read->last = read->offset + read->length == next.size;
  read->charge = charge_of(read->length);
  read->chunk = is_large(read->length) ? pool_->take()
                                       : ByteChunk::allocate(read->length, read->offset == 0 ? 0 : kChunkHeadroom);
  lane.charged += read->charge;
  lane.offset += read->length;
  send(*read);
  lane.reads.push_back(std::move(read));
}

void FetchLoop::send(ObjectRead& read) {
  const ListedObject listed = object(read);
  ReadRequest request;
  request.key = listed.key;
  request.offset = read.offset + read.received;
  request.destination = {read.chunk.data() + read.received, read.length - read.received};
  if (ETag tag{std::string(listed.etag)}; tag.pins()) request.if_match = std::move(tag);
  request.expected_object_size = listed.size;
  request.done = [this, &read](ReadOutcome outcome) {
    // Signalled under the lock: once the loop has taken the last one it may be gone.
    const MutexLock lock(mutex_);
    ended_.push_back({&read, std::move(outcome)});
    event_.signal();
  };
  read.state = ObjectRead::State::in_flight;
  ++in_flight_;
  read.handle = store_->start_read(std::move(request));
}

std::string FetchLoop::name(const ObjectRead& read) const { return options_.url + printable(object(read).key); }

}  // namespace millrace::s3_source
