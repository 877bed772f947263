// SPDX-License-Identifier: Apache-2.0
#include "connectors/iggy/lane_feed.h"

#include <utility>

namespace millrace::iggy_source {

LaneFeed::LaneFeed(const Beginning& beginning, std::size_t prefetch_bytes)
    : partition_(beginning.partition),
      begin_(beginning.from),
      end_(beginning.end),
      prefetch_bytes_(prefetch_bytes),
      next_(beginning.from.value()),
      last_(beginning.known),
      before_(beginning.known),
      delivered_(beginning.from.value()),
      server_end_(beginning.server_end.value()) {}

std::optional<std::int64_t> LaneFeed::wants() const {
  const MutexLock lock(mutex_);
  if (paused_ || error_ || bytes_ >= prefetch_bytes_ || (end_ && next_ >= end_->value())) return std::nullopt;
  return next_;
}

void LaneFeed::put(iggy::PolledMessages messages) {
  const iggy::Message& last = messages.messages().back();
  const MutexLock lock(mutex_);
  next_ = static_cast<std::int64_t>(last.offset) + 1;
  last_ = known(last);
  server_end_.store(static_cast<std::int64_t>(*messages.last_offset()) + 1, memory_order_relaxed);
  bytes_ += messages.memory();
  ready_.push_back(std::move(messages));
  changed_.notify_all();
  lane_.wake();
}

iggy::PolledMessages LaneFeed::spare() {
  const MutexLock lock(mutex_);
  return std::exchange(spare_, std::nullopt).value_or(iggy::PolledMessages());
}

void LaneFeed::fail(Error error) {
  const MutexLock lock(mutex_);
  if (!error_) error_ = std::move(error);
  changed_.notify_all();
  lane_.wake();
}

std::optional<KnownMessage> LaneFeed::last() const {
  const MutexLock lock(mutex_);
  return last_;
}

Result<LaneFeed::Got> LaneFeed::get(Clock& clock, SteadyTime deadline) {
  const MutexLock lock(mutex_);
  for (;;) {
    if (!ready_.empty()) {
      Got got{std::move(ready_.front()), false};
      ready_.pop_front();
      bytes_ -= got.messages->memory();
      room_.wake();
      return got;
    }
    if (error_) return millrace::fail(*error_);
    if (end_ && next_ >= end_->value()) return Got{std::nullopt, true};
    if (clock.now() >= deadline) return Got{};
    clock.wait_until(changed_, mutex_, deadline);
  }
}

void LaneFeed::give_back(iggy::PolledMessages messages) {
  if (messages.memory() > prefetch_bytes_) return;
  const MutexLock lock(mutex_);
  spare_ = std::move(messages);
}

void LaneFeed::delivered(KnownMessage last) {
  delivered_.store(static_cast<std::int64_t>(last.offset) + 1, memory_order_relaxed);
  const MutexLock lock(mutex_);
  handed_on_.add(last);
}

std::optional<KnownMessage> LaneFeed::settle(Watermark watermark) {
  const MutexLock lock(mutex_);
  const std::optional<KnownMessage> before = handed_on_.settle(watermark);
  return before ? before : before_;
}

Watermark LaneFeed::fetched() const {
  const MutexLock lock(mutex_);
  return Watermark(next_);
}

void LaneFeed::set_waker(Waker waker) {
  const MutexLock lock(mutex_);
  lane_ = std::move(waker);
}

void LaneFeed::on_room(Waker waker) {
  const MutexLock lock(mutex_);
  room_ = std::move(waker);
}

void LaneFeed::pause(bool paused) {
  const MutexLock lock(mutex_);
  paused_ = paused;
  if (!paused) room_.wake();
}

}  // namespace millrace::iggy_source
