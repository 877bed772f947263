// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/fetch_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

// From a near store: so many large reads under way, and so many out in all (but two for each lane). Measured on
// loopback: 2 to 4 of 2 MiB move 1650 MiB per CPU second, 8 and more 1250.
constexpr std::size_t kNearReads = 4;
constexpr std::size_t kNearBudget = 8;

}  // namespace

FetchLoop::FetchLoop(std::shared_ptr<ObjectStore> store, std::vector<LaneRoute> routes, Options options,
                     SourceMetrics metrics, Clock& clock, Random& random, Logger log)
    : store_(std::move(store)),
      options_(std::move(options)),
      metrics_(std::move(metrics)),
      clock_(clock),
      random_(random),
      log_(std::move(log)),
      chunks_(options_.lanes, options_.prefetch_bytes, options_.chunk_bytes, store_->read_advice()),
      most_in_flight_(
          std::max<std::size_t>(1, std::min(options_.requests_in_flight, store_->read_advice().reads_in_flight))),
      limit_(most_in_flight_) {
  if (options_.first_latency > Duration::zero()) latency_.record(options_.first_latency);
  for (std::uint64_t i = 0; i < options_.lanes; ++i) {
    lanes_.push_back(std::make_unique<FetchLane>(i, std::move(routes[i])));
    lanes_[i]->at_once.store(store_->read_advice().reads_at_once, memory_order_relaxed);
  }
}

FetchLoop::~FetchLoop() { stop(); }

void FetchLoop::start() {
  thread_ = Thread("s3-fetch", [this] { run(); });
}

void FetchLoop::stop() {
  stopping_.store(true);
  event_.signal();
  thread_.join();
}

void FetchLoop::pause(std::uint64_t lane, bool paused) {
  lanes_[lane]->paused.store(paused);
  if (!paused) pump();
}

void FetchLoop::release(std::uint64_t lane, std::size_t charge) {
  if (charge == 0) return;
  lanes_[lane]->feed->add_released(charge);
  pump();
}

void FetchLoop::run() {
  while (!stopping_.load()) {
    const EventCount::Ticket ticket = event_.ticket();
    pump_own();
    event_.wait_until(ticket, clock_, next_retry_);
  }
  end_reads();
}

/// Any thread, holding the baton: takes what ended and starts what may start.
void FetchLoop::work() {
  // One at a time: a store may read within the call, and what it has read should not wait for the reads after it.
  do {
    take_ended();
    // What failed is looked at first: a store that asks to come back later must not get the next read instead.
  } while (!stopping_.load() && failed_.empty() && start_next_read());
  if (stopping_.load()) {
    cancel_reads();
    if (in_flight_.load() == 0) event_.signal();
    return;
  }
  if (!failed_.empty() || (waiting_ > 0 && in_flight_.load() < limit_)) event_.signal();
}

/// The loop's own thread: the same, and what the others left to it.
void FetchLoop::pump_own() {
  baton_.run([this] {
    take_ended();
    for (Ended& ended : std::exchange(failed_, {})) {
      fail_or_retry(*ended.read, std::move(ended.outcome.info).error());
      hand_over(*lanes_[ended.read->lane]);
    }
    do {
      take_ended();
    } while (!stopping_.load() && failed_.empty() && (start_due_retry() || start_next_read()));
    if (!failed_.empty()) event_.signal();
    next_retry_ = next_retry();
  });
}

void FetchLoop::cancel_reads() {
  for (const auto& lane : lanes_) {
    for (const auto& read : lane->reads) {
      if (read->handle) read->handle->cancel();
    }
  }
}

/// On the loop's own thread, when the stop was asked for: whoever holds the baton sees it, and cancels.
void FetchLoop::end_reads() {
  // The store writes into the chunks until it has said that it is done, and it may still be saying so.
  while (true) {
    const EventCount::Ticket ticket = event_.ticket();
    pump();
    {
      const MutexLock lock(mutex_);
      if (in_flight_.load() == 0 && callbacks_ == 0) return;
    }
    event_.wait_until(ticket, clock_, clock_.now() + std::chrono::hours(1));
  }
}

bool FetchLoop::start_due_retry() {
  if (waiting_ == 0 || in_flight_.load() >= limit_) return false;
  const SteadyTime now = clock_.now();
  for (const auto& lane : lanes_) {
    ObjectRead* due = lane->may_read() ? lane->due_retry(now) : nullptr;
    if (due == nullptr) continue;
    --waiting_;
    send(*due);
    return true;
  }
  return false;
}

/// When the loop's own thread has something to do without being told.
SteadyTime FetchLoop::next_retry() const {
  SteadyTime next = clock_.now() + std::chrono::hours(1);
  if (in_flight_.load() >= limit_) return next;
  if (hold_until_ != SteadyTime::min()) next = hold_until_;
  if (waiting_ == 0) return next;
  for (const auto& lane : lanes_) {
    if (lane->may_read()) next = std::min(next, lane->earliest_retry());
  }
  return next;
}

/// The pool belongs to the lanes that have something left to fetch, in equal parts; what the others still hold is gone
/// from it for now.
std::uint64_t FetchLoop::share_of_a_lane() {
  std::uint64_t pool = options_.lanes * options_.prefetch_bytes;
  std::uint64_t active = 0;
  for (const auto& lane : lanes_) {
    if (lane->at_once.load()) continue;
    if (!lane->failed && lane->settle()) {
      ++active;
    } else {
      pool -= std::min(pool, lane->held());
    }
  }
  const std::uint64_t share = pool / std::max<std::uint64_t>(active, 1);
  if (!near()) return share;
  return std::min(share,
                  std::max<std::uint64_t>(2, kNearBudget / std::max<std::uint64_t>(active, 1)) * chunks_.read_bytes());
}

bool FetchLoop::may_start(std::size_t length) const {
  if (in_flight_.load() >= limit_) return false;
  return !near() || bytes_in_flight_ == 0 || bytes_in_flight_ + length <= kNearReads * chunks_.read_bytes();
}

bool FetchLoop::start_next_read() {
  if (in_flight_.load() >= limit_) return false;
  if (hold_until_ != SteadyTime::min() && clock_.now() < hold_until_) return false;
  hold_until_ = SteadyTime::min();
  const std::uint64_t share = share_of_a_lane();
  for (std::uint64_t i = 0; i < options_.lanes; ++i) {
    const std::uint64_t index = (turn_ + i) % options_.lanes;
    FetchLane& lane = *lanes_[index];
    if (lane.at_once.load() || !lane.may_read() || lane.route.at_end()) continue;
    const std::size_t length = lane.next_length(chunks_);
    const std::uint64_t held = lane.held();
    if ((held != 0 && held + chunks_.charge_of(length) > share) || !may_start(length)) continue;
    send(lane.begin(chunks_, options_.retry, random_));
    turn_ = (index + 1) % options_.lanes;
    return true;
  }
  return false;
}

void FetchLoop::send(ObjectRead& read) {
  read.form = tag_form_.load(memory_order_relaxed);
  ReadRequest request = request_for(object(read), read.offset + read.received, read.form);
  request.destination = {read.chunk.data() + read.received, read.length - read.received};
  send(read, std::move(request));
}

void FetchLoop::send(ObjectRead& read, ReadRequest request) {
  request.done = [this, &read](ReadOutcome outcome) {
    {
      const MutexLock lock(mutex_);
      ended_.push_back({&read, std::move(outcome)});
      ++callbacks_;
    }
    pump();
    // Signalled under the lock: once the last callback has left, the loop may be gone.
    const MutexLock lock(mutex_);
    if (--callbacks_ == 0 && stopping_.load()) event_.signal();
  };
  read.state = ObjectRead::State::in_flight;
  read.sent_at = clock_.now();
  in_flight_.fetch_add(1);
  bytes_in_flight_ += read.length - read.received;
  read.handle = store_->start_read(std::move(request));
}

void FetchLoop::skip(std::uint64_t index, std::uint64_t ordinal) {
  FetchLane& lane = *lanes_[index];
  if (lane.at_once.load()) return lane.skip(ordinal);  // the place is the lane's own, and nothing is under way
  {
    const MutexLock lock(mutex_);
    skips_.push_back({index, ordinal});
  }
  pump();
}

std::optional<Piece> FetchLoop::read_at_once(std::uint64_t index) {
  FetchLane& lane = *lanes_[index];
  if (!lane.at_once.load() || !lane.settle()) return std::nullopt;
  const ListedObject next = lane.route.object();
  const std::size_t length = lane.next_length(chunks_);
  Piece piece{.ordinal = lane.route.ordinal(), .offset = lane.offset, .last = lane.offset + length == next.size};
  ReadRequest request = request_for(next, lane.offset, tag_form_.load(memory_order_relaxed));
  if (!request.if_match.empty()) {
    piece.bytes = chunks_.take(length, lane.offset);
    request.destination = {piece.bytes.data(), length};
    if (auto info = store_->read_at_once(request)) {
      piece.bytes.set_size(length);
      if (piece.offset == 0) piece.content_encoding = std::move(info->content_encoding);
      lane.offset += length;
      metrics_.bytes_read.add(length);
      return piece;
    }
  }
  lane.at_once.store(false);
  pump();
  return std::nullopt;
}

/// A pinned read of what was listed; the destination is still to be said.
ReadRequest FetchLoop::request_for(const ListedObject& listed, std::uint64_t offset, TagForm form) {
  ReadRequest request;
  request.key = listed.key;
  request.offset = offset;
  if (ETag tag{std::string(listed.etag)}; tag.pins()) request.if_match = {in_form(tag.value, form)};
  request.expected_object_size = listed.size;
  return request;
}

std::string FetchLoop::name(const ObjectRead& read) const { return options_.url + printable(object(read).key); }

}  // namespace millrace::s3_source
