// SPDX-License-Identifier: Apache-2.0
// ReadPool: a few I/O threads that run reads in the order in which they were asked for. Thread-safe. Bounded by whoever
// asks: the queue holds what the callers' budgets let them start.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "millrace/base/sync.h"
#include "millrace/store/object_store.h"

namespace millrace {

/// One read on its way: the request and whether somebody asked to end it.
class ReadJob final : public ReadHandle {
 public:
  explicit ReadJob(ReadRequest asked) : request(std::move(asked)) {}
  void cancel() override { cancelled_.store(true, memory_order_relaxed); }
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_.load(memory_order_relaxed); }
  ReadRequest request;

 private:
  Atomic<bool> cancelled_{false};
};

class ReadPool {
 public:
  /// `read` runs on a pool thread, once per job, and must call the job's `done`.
  ReadPool(std::size_t threads, std::function<void(ReadJob&)> read);
  /// Runs what is queued (the owner has cancelled it) and joins.
  ~ReadPool();
  ReadPool(const ReadPool&) = delete;
  ReadPool& operator=(const ReadPool&) = delete;

  void start(std::shared_ptr<ReadJob> job);
  /// Asks every queued and running job to end.
  void cancel();

 private:
  void run();

  const std::function<void(ReadJob&)> read_;
  Mutex mutex_;
  CondVar wanted_;
  std::deque<std::shared_ptr<ReadJob>> queue_ MILLRACE_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<ReadJob>> running_ MILLRACE_GUARDED_BY(mutex_);
  bool ending_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::vector<Thread> threads_;  // last: they use everything above
};

}  // namespace millrace
