// SPDX-License-Identifier: Apache-2.0
#include "sink/inflight_budget.h"

#include <algorithm>
#include <utility>

namespace millrace {

bool InflightBudget::fits(std::size_t bytes, const Claimant& claimant) const {
  const std::size_t used = used_.load(memory_order_relaxed);
  const std::size_t room = limit_ > used ? limit_ - used : 0;
  const bool behind_a_claim = claim_ && claim_->claimant != claimant;
  if (idle(claimant.sink) && (!behind_a_claim || claim_->claimant.sink != claimant.sink)) return true;
  if (behind_a_claim) return claim_->bytes <= room && bytes <= room - claim_->bytes;
  return bytes <= room;
}

std::size_t& InflightBudget::in_flight(const void* sink) {
  const auto found = std::ranges::find(in_flight_, sink, &std::pair<const void*, std::size_t>::first);
  return found != in_flight_.end() ? found->second : in_flight_.emplace_back(sink, 0).second;
}

bool InflightBudget::idle(const void* sink) const {
  return std::ranges::none_of(in_flight_, [&](const auto& one) { return one.first == sink && one.second != 0; });
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
  ++in_flight(claimant.sink);
  if (claimed) {
    claim_.reset();
    wake_refused();  // what was kept for the claim may leave room for the next
  }
  return true;
}

void InflightBudget::give_back(std::size_t bytes, const void* sink) {
  const MutexLock lock(mutex_);
  --in_flight(sink);
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
