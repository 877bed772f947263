// SPDX-License-Identifier: Apache-2.0
// DelayedRead: what the owner of a read holds that begins later, so that it can be ended before and after it began.
// Thread-safe; may outlive its store.
#pragma once

#include <memory>

#include "millrace/base/sync.h"
#include "millrace/store/object_store.h"
#include "store/slow/delay_line.h"

namespace millrace::testing {

class DelayedRead final : public ReadHandle {
 public:
  void waits_on(std::weak_ptr<DelayLine> line, DelayLine::Ticket ticket) {
    const MutexLock lock(mutex_);
    line_ = std::move(line);
    ticket_ = ticket;
  }
  void began(std::shared_ptr<ReadHandle> inner) {
    const MutexLock lock(mutex_);
    inner_ = std::move(inner);
    if (cancelled_) inner_->cancel();
  }
  void cancel() override {
    const MutexLock lock(mutex_);
    cancelled_ = true;
    if (inner_) {
      inner_->cancel();
    } else if (const auto line = line_.lock()) {
      line->cancel(ticket_);
    }
  }

 private:
  Mutex mutex_;
  bool cancelled_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::shared_ptr<ReadHandle> inner_ MILLRACE_GUARDED_BY(mutex_);
  std::weak_ptr<DelayLine> line_ MILLRACE_GUARDED_BY(mutex_);
  DelayLine::Ticket ticket_ MILLRACE_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace::testing
