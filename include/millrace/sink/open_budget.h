// SPDX-License-Identifier: Apache-2.0
// OpenBudget: how much memory the open files of one sink may hold over all lanes (INV-7), and where they may spill to.
// Thread-safe. Each lane says what it holds; over the limit a lane that holds more than its share gives some up.
//
// Why that is enough: when the sum is over the limit, some lane is over limit / lanes. It is woken, and gives up its
// largest file until it is not, so the sum comes to rest at the limit.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "millrace/base/sync.h"
#include "millrace/sink/spill_file.h"

#pragma GCC visibility push(default)
namespace millrace {

class OpenBudget {
 public:
  /// `limit` > 0. `spool`: null: what has to go is sealed.
  OpenBudget(std::size_t limit, std::shared_ptr<Spool> spool) : limit_(limit), spool_(std::move(spool)) {}

  void join() noexcept { lanes_.fetch_add(1, memory_order_relaxed); }
  void leave() noexcept { lanes_.fetch_sub(1, memory_order_relaxed); }
  /// A lane holds `now` instead of `before`. Wakes the others when the sum goes over the limit.
  void change(std::size_t before, std::size_t now);
  /// A lane that holds `bytes` has to give some up.
  [[nodiscard]] bool must_yield(std::size_t bytes) const noexcept;

  [[nodiscard]] std::size_t used() const noexcept { return used_.load(memory_order_relaxed); }
  /// What a lane may hold, however much the others do.
  [[nodiscard]] std::size_t share() const noexcept;
  [[nodiscard]] Spool* spool() const noexcept { return spool_.get(); }
  /// Woken when the limit is exceeded. Stays for the budget's life.
  void wake_when_over(Waker waker);

 private:
  const std::size_t limit_;
  const std::shared_ptr<Spool> spool_;
  Atomic<std::size_t> used_{0};
  Atomic<std::size_t> lanes_{0};
  Mutex mutex_;
  std::vector<Waker> wakers_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace
#pragma GCC visibility pop
