// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tracker.h"

#include <algorithm>
#include <bit>

namespace millrace {

bool Tracker::apply(BatchSeq seq, Offset last, AckStatus status) {
  if (seq.value() < base_) return false;
  if (seq.value() - base_ >= ring_.size()) grow(seq.value() - base_ + 1);
  Slot& noted = slot(seq.value());
  if (noted.state != Slot::State::open) return false;
  switch (status) {
    case AckStatus::delivered:
      noted = {Slot::State::delivered, last};
      break;
    case AckStatus::put_off:
      noted = {Slot::State::put_off, last};
      break;
    case AckStatus::failed:
      noted = {Slot::State::failed, last};
      break;
  }
  if (status != AckStatus::failed) ++ended_behind_;
  while (slot(base_).state == Slot::State::delivered) {
    Slot& settled = slot(base_);
    const Watermark reached = one_past(settled.last);
    watermark_ = watermark_ ? std::max(*watermark_, reached) : reached;
    settled = {};
    ++base_;
    --ended_behind_;
  }
  return true;
}

void Tracker::grow(std::uint64_t needed) {
  std::vector<Slot> wider(std::bit_ceil(needed));
  for (std::uint64_t seq = base_; seq < base_ + ring_.size(); ++seq) wider[seq & (wider.size() - 1)] = slot(seq);
  ring_ = std::move(wider);
}

}  // namespace millrace
