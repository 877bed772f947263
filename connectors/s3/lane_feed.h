// SPDX-License-Identifier: Apache-2.0
// LaneFeed: the queue of pieces between the fetch loop and one lane. Bounded by the bytes the fetch loop may have out
// (its budget), so it never refuses; a piece is at least an object or a large read, so a lock per piece costs nothing
// per record. One producer at a time (who holds the fetch loop's baton), one consumer (the lane's thread).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "millrace/base/bytes.h"
#include "millrace/base/error.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"

namespace millrace::s3_source {

/// Consecutive bytes of one object, in order; the lane's objects come one after the other.
struct Piece {
  std::uint64_t ordinal = 0;
  std::uint64_t offset = 0;
  bool last = false;             ///< the object ends with it
  ByteChunk bytes;               ///< empty for an object that is skipped
  std::size_t charge = 0;        ///< what it takes of the budget until released
  bool skipped = false;          ///< an archived object that cannot be read, under on_archived: skip
  std::string content_encoding;  ///< of the object, with its first piece
  std::optional<Error> error;    ///< in place of bytes: the lane cannot go on
};

class LaneFeed {
 public:
  // Fetch loop.
  void put(Piece piece) {
    {
      const MutexLock lock(mutex_);
      pieces_.push_back(std::move(piece));
    }
    nudge();
  }
  /// Bytes of the budget given back since the beginning. Any thread.
  [[nodiscard]] std::uint64_t released() const noexcept { return released_.load(memory_order_acquire); }
  void add_released(std::size_t charge) noexcept { released_.fetch_add(charge, memory_order_release); }

  // Lane.
  /// The next piece, if it is there; never waits.
  [[nodiscard]] std::optional<Piece> take() {
    const MutexLock lock(mutex_);
    if (pieces_.empty()) return std::nullopt;
    std::optional<Piece> piece(std::move(pieces_.front()));
    pieces_.pop_front();
    return piece;
  }
  void set_waker(Waker waker) {
    const MutexLock lock(mutex_);
    waker_ = std::move(waker);
  }
  /// The lane is worth polling again. Any thread.
  void nudge() {
    Waker waker;
    {
      const MutexLock lock(mutex_);
      waker = waker_;
    }
    arrived_.signal();
    waker.wake();
  }
  [[nodiscard]] EventCount::Ticket ticket() const noexcept { return arrived_.ticket(); }
  /// For a lane without a waker: sleeps until something arrived after `ticket`, or `deadline`.
  void wait_until(EventCount::Ticket ticket, Clock& clock, SteadyTime deadline) {
    arrived_.wait_until(ticket, clock, deadline);
  }

 private:
  Atomic<std::uint64_t> released_{0};
  EventCount arrived_;
  Mutex mutex_;
  std::deque<Piece> pieces_ MILLRACE_GUARDED_BY(mutex_);
  Waker waker_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::s3_source
