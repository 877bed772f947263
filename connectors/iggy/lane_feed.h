// SPDX-License-Identifier: Apache-2.0
// LaneFeed: what was fetched of one partition and not read yet: between the thread that fetches and the lane.
// Thread-safe. Bounded: nothing more is fetched while it holds `prefetch_bytes`, so it holds that and one reply at most
// (INV-7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "connectors/iggy/partition.h"
#include "millrace/base/result.h"
#include "millrace/base/sync.h"
#include "millrace/base/time.h"
#include "millrace/iggy_client/messages.h"

namespace millrace::iggy_source {

/// The message that was fetched last: what stands at its offset after the server was away must be the same.
struct LastMessage {
  std::uint64_t offset = 0;
  iggy::MessageId id;
  std::uint64_t timestamp = 0;
};

class LaneFeed {
 public:
  LaneFeed(Partition partition, Watermark begin, std::optional<Watermark> end, std::size_t prefetch_bytes)
      : partition_(partition),
        end_(end),
        prefetch_bytes_(prefetch_bytes),
        next_(begin.value()),
        delivered_(begin.value()) {}

  [[nodiscard]] Partition partition() const noexcept { return partition_; }
  [[nodiscard]] const std::optional<Watermark>& end() const noexcept { return end_; }

  // The fetching thread:
  /// Where to fetch next; nothing while there is no room, or it is paused, ended or failed.
  [[nodiscard]] std::optional<std::int64_t> wants() const;
  /// Requires messages; takes them. Wakes the lane.
  void put(iggy::PolledMessages messages);
  /// Memory for the next reply: of messages that were read.
  [[nodiscard]] iggy::PolledMessages spare();
  void fail(Error error);
  [[nodiscard]] std::optional<LastMessage> last() const;

  // The lane:
  struct Got {
    std::optional<iggy::PolledMessages> messages;
    bool ended = false;  ///< and nothing is left
  };
  /// Waits for the first until `deadline`.
  [[nodiscard]] Result<Got> get(Clock& clock, SteadyTime deadline);
  void give_back(iggy::PolledMessages messages);
  void set_waker(Waker waker);
  void delivered(std::int64_t next) noexcept { delivered_.store(next, memory_order_relaxed); }

  // The control thread:
  void pause(bool paused);
  /// The lane has come to its end and says so.
  void exhaust() noexcept { exhausted_.store(true, memory_order_release); }
  [[nodiscard]] bool exhausted() const noexcept { return exhausted_.load(memory_order_acquire); }
  /// One past the last message that was handed to the pipeline.
  [[nodiscard]] std::int64_t delivered() const noexcept { return delivered_.load(memory_order_relaxed); }
  /// One past the server's last message, as the latest poll said; negative: not known.
  [[nodiscard]] std::int64_t server_end() const noexcept { return server_end_.load(memory_order_relaxed); }
  /// Woken when there may be room again; set by who fetches.
  void on_room(Waker waker);

 private:
  const Partition partition_;
  const std::optional<Watermark> end_;
  const std::size_t prefetch_bytes_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<iggy::PolledMessages> ready_ MILLRACE_GUARDED_BY(mutex_);
  std::size_t bytes_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::int64_t next_ MILLRACE_GUARDED_BY(mutex_);
  bool paused_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::optional<Error> error_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<LastMessage> last_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<iggy::PolledMessages> spare_ MILLRACE_GUARDED_BY(mutex_);
  Waker lane_ MILLRACE_GUARDED_BY(mutex_);
  Waker room_ MILLRACE_GUARDED_BY(mutex_);
  Atomic<std::int64_t> delivered_;
  Atomic<std::int64_t> server_end_{-1};
  Atomic<bool> exhausted_{false};
};

}  // namespace millrace::iggy_source
