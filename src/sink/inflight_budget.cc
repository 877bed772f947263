// SPDX-License-Identifier: Apache-2.0
#include "sink/inflight_budget.h"

#include <utility>

namespace millrace {

bool InflightBudget::fits(std::size_t bytes, const Claimant& claimant) const {
  const std::size_t used = used_.load(memory_order_relaxed);
  const std::size_t room = limit_ > used ? limit_ - used : 0;
  if (claim_ && claim_->claimant != claimant) return claim_->bytes <= room && bytes <= room - claim_->bytes;
  return used == 0 || bytes <= room;
}

bool InflightBudget::try_take(std::size_t bytes, Claimant claimant) {
  const MutexLock lock(mutex_);
  const bool claimed = claim_ && claim_->claimant == claimant;
  if (!fits(bytes, claimant)) {
    if (claimed || !claim_) claim_ = Claim{claimant, bytes};
    someone_refused_ = true;
    refusals_.fetch_add(1, memory_order_relaxed);
    return false;
  }
  used_.store(used_.load(memory_order_relaxed) + bytes, memory_order_relaxed);
  if (claimed) {
    claim_.reset();
    wake_refused();  // what was kept for the claim may leave room for the next
  }
  return true;
}

void InflightBudget::give_back(std::size_t bytes) {
  const MutexLock lock(mutex_);
  used_.store(used_.load(memory_order_relaxed) - bytes, memory_order_relaxed);
  wake_refused();
}

void InflightBudget::withdraw(Claimant claimant) {
  const MutexLock lock(mutex_);
  if (!claim_ || claim_->claimant != claimant) return;
  claim_.reset();
  wake_refused();
}

void InflightBudget::wake_when_room(Waker waker) {
  const MutexLock lock(mutex_);
  wakers_.push_back(std::move(waker));
}

void InflightBudget::wake_refused() {
  if (!std::exchange(someone_refused_, false)) return;
  for (const Waker& waker : wakers_) waker.wake();
}

}  // namespace millrace
