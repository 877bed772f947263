// SPDX-License-Identifier: Apache-2.0
// LaneFeed: what was fetched of one partition and not read yet: between the thread that fetches and the lane.
// Thread-safe. Bounded: nothing more is fetched while `prefetch_bytes` wait. So it has those, one reply beyond, the one
// that the lane reads, and a buffer of at most `prefetch_bytes` for the next one (INV-7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "connectors/iggy/known_message.h"
#include "connectors/iggy/partition.h"
#include "connectors/iggy/topics.h"
#include "millrace/base/result.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"
#include "millrace/iggy_client/messages.h"

namespace millrace::iggy_source {

class LaneFeed {
 public:
  LaneFeed(const Beginning& beginning, std::size_t prefetch_bytes);

  [[nodiscard]] Partition partition() const noexcept { return partition_; }
  [[nodiscard]] Watermark begin() const noexcept { return begin_; }
  [[nodiscard]] const std::optional<Watermark>& end() const noexcept { return end_; }

  // The fetching thread:
  /// Where to fetch next; nothing while there is no room, or it is paused, ended or failed.
  [[nodiscard]] std::optional<std::int64_t> wants() const;
  /// Requires messages; takes them. Wakes the lane.
  void put(iggy::PolledMessages messages);
  /// Memory for the next reply: of messages that were read.
  [[nodiscard]] iggy::PolledMessages spare();
  void give_back(iggy::PolledMessages messages);
  void fail(Error error);
  /// The message before the next one, as far as one is known.
  [[nodiscard]] std::optional<KnownMessage> last() const;

  // The lane:
  struct Got {
    std::optional<iggy::PolledMessages> messages;
    bool ended = false;  ///< and nothing is left
  };
  /// Waits for the first until `deadline`.
  [[nodiscard]] Result<Got> get(Clock& clock, SteadyTime deadline);
  void set_waker(Waker waker);
  /// A batch that ends with this message was handed to the pipeline.
  void delivered(KnownMessage last);

  // The control thread:
  void pause(bool paused);
  /// The lane has come to its end and says so.
  void exhaust() noexcept { exhausted_.store(true, memory_order_release); }
  [[nodiscard]] bool exhausted() const noexcept { return exhausted_.load(memory_order_acquire); }
  /// One past the last message that was handed to the pipeline.
  [[nodiscard]] std::int64_t delivered() const noexcept { return delivered_.load(memory_order_relaxed); }
  /// A message that vouches for all before `watermark` (KnownMessages::settle).
  [[nodiscard]] std::optional<KnownMessage> settle(Watermark watermark);
  /// One past the server's last message, as far as was heard.
  [[nodiscard]] std::int64_t server_end() const noexcept { return server_end_.load(memory_order_relaxed); }
  /// Woken when there may be room again; set by who fetches.
  void on_room(Waker waker);

  // The desk:
  /// One past the last message that was fetched.
  [[nodiscard]] Watermark fetched() const;
  void set_server_end(Watermark end) noexcept { server_end_.store(end.value(), memory_order_relaxed); }

 private:
  const Partition partition_;
  const Watermark begin_;
  const std::optional<Watermark> end_;
  const std::size_t prefetch_bytes_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<iggy::PolledMessages> ready_ MILLRACE_GUARDED_BY(mutex_);
  std::size_t bytes_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::int64_t next_ MILLRACE_GUARDED_BY(mutex_);
  bool paused_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::optional<Error> error_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<KnownMessage> last_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<KnownMessage> before_ MILLRACE_GUARDED_BY(mutex_);  ///< where it began
  KnownMessages handed_on_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<iggy::PolledMessages> spare_ MILLRACE_GUARDED_BY(mutex_);
  Waker lane_ MILLRACE_GUARDED_BY(mutex_);
  Waker room_ MILLRACE_GUARDED_BY(mutex_);
  Atomic<std::int64_t> delivered_;
  Atomic<std::int64_t> server_end_;
  Atomic<bool> exhausted_{false};
};

}  // namespace millrace::iggy_source
