// SPDX-License-Identifier: Apache-2.0
#include "store/file/read_pool.h"

#include <algorithm>

namespace millrace {

ReadPool::ReadPool(std::size_t threads, std::function<void(ReadJob&)> read) : read_(std::move(read)) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back("file-read", [this] { run(); });
}

ReadPool::~ReadPool() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  wanted_.notify_all();
  threads_.clear();
}

void ReadPool::start(std::shared_ptr<ReadJob> job) {
  {
    const MutexLock lock(mutex_);
    queue_.push_back(std::move(job));
  }
  wanted_.notify_one();
}

void ReadPool::cancel() {
  const MutexLock lock(mutex_);
  for (const auto& job : queue_) job->cancel();
  for (const auto& job : running_) job->cancel();
}

void ReadPool::run() {
  for (;;) {
    std::shared_ptr<ReadJob> job;
    {
      const MutexLock lock(mutex_);
      while (queue_.empty() && !ending_) wanted_.wait(mutex_);
      if (queue_.empty()) return;
      job = std::move(queue_.front());
      queue_.pop_front();
      running_.push_back(job);
    }
    read_(*job);
    const MutexLock lock(mutex_);
    std::erase(running_, job);
  }
}

}  // namespace millrace
