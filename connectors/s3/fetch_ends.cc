// SPDX-License-Identifier: Apache-2.0
// The part of FetchLoop that takes the ends of reads: what succeeded is handed over in order, what failed is tried
// again or said for good.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connectors/s3/fetch_loop.h"
#include "connectors/s3/quarantine.h"
#include "millrace/base/printable.h"

namespace millrace::s3_source {

void FetchLoop::take_ended() {
  {
    const MutexLock lock(mutex_);
    taken_.swap(ended_);
    skipping_.swap(skips_);
  }
  for (const Skip& skip : skipping_) {
    drop(*lanes_[skip.lane], skip.ordinal);
    hand_over(*lanes_[skip.lane]);
  }
  skipping_.clear();
  for (Ended& ended : taken_) {
    ObjectRead& read = *ended.read;
    in_flight_.fetch_sub(1);
    bytes_in_flight_ -= read.length - read.received;
    read.handle.reset();
    if (read.overwritten) {
      take_what_is_there(read, ended.outcome);
      continue;
    }
    metrics_.bytes_read.add(ended.outcome.received);
    read.received += ended.outcome.received;
    // Bytes that are thrown away again and again bring nothing: only what no try had reached counts.
    if (read.received > read.furthest) {
      read.furthest = read.received;
      read.tries.progress();
    }
    if (ended.outcome.info) {
      succeed(read, *std::move(ended.outcome.info));
      hand_over(*lanes_[read.lane]);
    } else {
      failed_.push_back(std::move(ended));
    }
  }
  taken_.clear();
}

void FetchLoop::succeed(ObjectRead& read, ReadInfo info) {
  read.info = std::move(info);
  read.error = changed_between(object(read), name(read), read, taken_of(read));
  read.state = read.error ? ObjectRead::State::failed : ObjectRead::State::done;
  read.chunk.set_size(read.length);
  latency_.record(clock_.now() - read.sent_at);
  if (limit_ < most_in_flight_) ++limit_;
  hold_until_ = SteadyTime::min();
}

void FetchLoop::fail_or_retry(ObjectRead& read, Error error) {
  if (lanes_[read.lane]->skips(read)) return read.fail(std::move(error));
  const SteadyTime now = clock_.now();
  const std::optional<Duration> wait = stopping_.load() ? std::nullopt : read.tries.next(error, now);
  if (!wait) {
    if ((error.code() == ErrorCode::precondition_failed || error.code() == ErrorCode::drift) && !stopping_.load()) {
      return ask_what_is_there(read, std::move(error));
    }
    read.fail(read_failure(object(read), name(read), read, std::move(error), taken_of(read)));
    return;
  }
  // Without a pin nothing proves that the rest would belong to what has been received; and where all has been received
  // without success there is no rest to ask for.
  if (!listed_pins(read) || read.received == read.length) read.received = 0;
  if (store_is_away(error)) {
    limit_ = std::max<std::size_t>(1, limit_ / 2);
    hold_until_ = std::max(hold_until_, now + *wait);
  }
  metrics_.get_retries.add();
  // Said once of each kind of error, and once of a store that asks for more patience than there is.
  const unsigned kind_bit = read.tries.asked_for_more() ? 63U : static_cast<unsigned>(error.code());
  const std::uint64_t kind = std::uint64_t{1} << kind_bit;
  log_.log((warned_ & kind) == 0 ? LogLevel::warn : LogLevel::debug, "a read failed and is tried again",
           {{"object", name(read)},
            {"from_byte", fmt::format("{}", read.offset + read.received)},
            {"in", read.tries.wait_text()},
            {"error", error.describe()}});
  warned_ |= kind;
  read.state = ObjectRead::State::waiting;
  read.retry_at = now + *wait;
  ++waiting_;
}

/// One byte of whatever the object is now, for the ETag to name: a read like the others, which nothing waits for and a
/// stop ends.
void FetchLoop::ask_what_is_there(ObjectRead& read, Error error) {
  read.overwritten = std::move(error);
  ReadRequest request;
  request.key = object(read).key;
  request.destination = {read.chunk.data(), 1};
  send(read, std::move(request));
}

void FetchLoop::take_what_is_there(ObjectRead& read, const ReadOutcome& outcome) {
  std::optional<ETag> now;
  if (outcome.info) now = outcome.info->etag;
  if (now && respell(read, *now)) return;
  read.fail(read_failure(object(read), name(read), read, *std::exchange(read.overwritten, std::nullopt), taken_of(read),
                         now));
  hand_over(*lanes_[read.lane]);
}

/// Where the listing and the answers spell one ETag differently, the answers' spelling is what If-Match is held
/// against: once for each read, and for all that follow.
bool FetchLoop::respell(ObjectRead& read, const ETag& now) {
  const std::string_view listed = object(read).etag;
  if (read.respelled || !now.pins() || stopping_.load() || opaque_tag(now.value) != opaque_tag(listed)) return false;
  if (in_form(listed, read.form) == now.value) return false;
  tag_form_.store(form_of(now.value), memory_order_relaxed);
  read.respelled = true;
  read.overwritten.reset();
  read.received = 0;  // the answer to the question lies in front of it
  send(read);
  return true;
}

/// Gives the lane what is complete and next in order.
void FetchLoop::hand_over(FetchLane& lane) {
  while (!lane.reads.empty() && !lane.failed) {
    ObjectRead& read = *lane.reads.front();
    const bool ended = read.state == ObjectRead::State::done || read.state == ObjectRead::State::failed;
    if (!ended) return;
    if (read.state == ObjectRead::State::done) {
      if (const auto before = lane.other_version(read)) {
        read.fail(another_version(name(read), read, *before, taken_of(read)));
      }
    }
    Piece piece{.ordinal = read.ordinal, .offset = read.offset, .last = read.last, .charge = read.charge};
    if (lane.skips(read)) {
      lane.feed->add_released(read.charge);
    } else if (read.state == ObjectRead::State::done) {
      piece.bytes = std::move(read.chunk);
      if (read.offset == 0) piece.content_encoding = std::move(read.info.content_encoding);
      lane.feed->put(std::move(piece));
    } else if (options_.skip_archived && read.offset == 0 && read.error->code() == ErrorCode::not_supported) {
      // The store's own word, and no other error: a listing tells nothing of a restored copy, nor of tiers that archive
      // by themselves.
      skip_object(lane, read);
    } else {
      piece.error = std::move(read.error);
      if (options_.quarantine && is_fault_of_object(piece.error->code())) {
        drop(lane, read.ordinal);
      } else {
        lane.failed = true;
      }
      lane.feed->put(std::move(piece));
    }
    lane.reads.pop_front();
  }
}

void FetchLoop::skip_object(FetchLane& lane, const ObjectRead& read) {
  log_.warn("skipping an archived object that is not restored, as on_archived: skip asks; the manifest lists it",
            {{"object", name(read)}, {"error", read.error->message()}});
  lane.skip(read.ordinal);
  lane.feed->put({.ordinal = read.ordinal, .last = true, .charge = read.charge, .skipped = true});
}

/// Nothing more of this object: what is under way of it ends soon, and is handed over to nobody.
void FetchLoop::drop(FetchLane& lane, std::uint64_t ordinal) {
  lane.skip(ordinal);
  for (const auto& read : lane.reads) {
    if (!lane.skips(*read)) break;
    if (read->state == ObjectRead::State::waiting) {
      --waiting_;
      read->fail(Error::fatal(ErrorCode::cancelled, "the object was set aside"));
    } else if (read->handle) {
      read->handle->cancel();
    }
  }
}

}  // namespace millrace::s3_source
