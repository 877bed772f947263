// SPDX-License-Identifier: Apache-2.0
// Tracker: one partition in one epoch. A ring of the batches behind which the watermark has not passed yet. Control
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "millrace/ack/resolution.h"
#include "millrace/base/ids.h"

namespace millrace {

class Tracker {
 public:
  /// Notes how batch `seq` ended. False when it had been noted before; nothing changes then.
  bool apply(BatchSeq seq, Offset last, AckStatus status);
  /// How many batches lie in the contiguous delivered prefix.
  [[nodiscard]] std::uint64_t settled() const noexcept { return base_; }
  /// One past the last offset of that prefix; nothing before the first batch is settled.
  [[nodiscard]] std::optional<Watermark> watermark() const noexcept { return watermark_; }
  /// The batch right behind the prefix failed: the watermark never moves again.
  [[nodiscard]] bool blocked() const noexcept { return head() == Slot::State::failed; }
  /// The batch right behind the prefix was put off: the watermark rests here until the next run.
  [[nodiscard]] bool resting() const noexcept { return head() == Slot::State::put_off; }
  /// Batches behind the prefix that have ended well: written, or put off.
  [[nodiscard]] std::uint64_t ended_behind() const noexcept { return ended_behind_; }

 private:
  struct Slot {
    enum class State : std::uint8_t { open, delivered, put_off, failed } state = State::open;
    Offset last;
  };
  void grow(std::uint64_t needed);
  [[nodiscard]] Slot::State head() const noexcept { return ring_[base_ & (ring_.size() - 1)].state; }
  [[nodiscard]] Slot& slot(std::uint64_t seq) noexcept { return ring_[seq & (ring_.size() - 1)]; }

  /// Sequence numbers [base_, base_ + ring_.size()) have a slot; the size is a power of two.
  std::vector<Slot> ring_ = std::vector<Slot>(64);
  std::uint64_t base_ = 0;
  std::uint64_t ended_behind_ = 0;
  std::optional<Watermark> watermark_;
};

}  // namespace millrace
