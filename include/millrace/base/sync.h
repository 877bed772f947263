// SPDX-License-Identifier: Apache-2.0
// Locks, atomics and threads, in this one place, with clang's thread-safety annotations; a test build can swap the
// scheduler here.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#if defined(__clang__)
#define MILLRACE_ANNOTATE(x) __attribute__((x))
#else
#define MILLRACE_ANNOTATE(x)
#endif
#define MILLRACE_CAPABILITY(x) MILLRACE_ANNOTATE(capability(x))
#define MILLRACE_SCOPED_CAPABILITY MILLRACE_ANNOTATE(scoped_lockable)
#define MILLRACE_GUARDED_BY(x) MILLRACE_ANNOTATE(guarded_by(x))
#define MILLRACE_REQUIRES(...) MILLRACE_ANNOTATE(requires_capability(__VA_ARGS__))
#define MILLRACE_ACQUIRE(...) MILLRACE_ANNOTATE(acquire_capability(__VA_ARGS__))
#define MILLRACE_RELEASE(...) MILLRACE_ANNOTATE(release_capability(__VA_ARGS__))
#define MILLRACE_TRY_ACQUIRE(...) MILLRACE_ANNOTATE(try_acquire_capability(__VA_ARGS__))
#define MILLRACE_EXCLUDES(...) MILLRACE_ANNOTATE(locks_excluded(__VA_ARGS__))
#define MILLRACE_NO_THREAD_SAFETY_ANALYSIS MILLRACE_ANNOTATE(no_thread_safety_analysis)

#pragma GCC visibility push(default)
namespace millrace {

template <class T>
using Atomic = std::atomic<T>;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

class MILLRACE_CAPABILITY("mutex") Mutex {
 public:
  void lock() MILLRACE_ACQUIRE() { mutex_.lock(); }
  void unlock() MILLRACE_RELEASE() { mutex_.unlock(); }
  bool try_lock() MILLRACE_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  std::mutex mutex_;
};

/// Holds a Mutex for a scope.
class MILLRACE_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) MILLRACE_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() MILLRACE_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

/// Condition variable over Mutex. Waits with a deadline go through Clock::wait_until, which owns time.
class CondVar {
 public:
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }
  void wait(Mutex& mutex) MILLRACE_REQUIRES(mutex) { condition_.wait(mutex); }
  /// On the real clock; for Clock::real() only. Everybody else calls Clock::wait_until.
  void wait_until_real(Mutex& mutex, std::chrono::steady_clock::time_point deadline) MILLRACE_REQUIRES(mutex) {
    condition_.wait_until(mutex, deadline);
  }

 private:
  std::condition_variable_any condition_;
};

/// A named thread that joins when destroyed. The name is at most 15 bytes (what the kernel shows).
class Thread {
 public:
  Thread() = default;
  Thread(std::string name, std::function<void()> body);
  Thread(Thread&&) noexcept = default;
  Thread& operator=(Thread&&) noexcept;
  ~Thread();
  void join();
  void detach() { thread_.detach(); }
  [[nodiscard]] bool joinable() const noexcept { return thread_.joinable(); }

 private:
  std::thread thread_;
};

class Clock;

/// One sleeper, many wakers, no lost wake-up and no lock on the waking side while nobody sleeps. The sleeper takes a
/// ticket, looks for work, and sleeps only if nothing was signalled since the ticket.
class EventCount {
 public:
  using Ticket = std::uint64_t;
  [[nodiscard]] Ticket ticket() const noexcept { return signals_.load(std::memory_order_seq_cst); }
  /// Any thread. Cheap when nobody sleeps.
  void signal() noexcept;
  /// Sleeps until a signal after `ticket` or until `deadline` on `clock`. True when signalled.
  bool wait_until(Ticket ticket, Clock& clock,
                  std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds> deadline);

 private:
  Atomic<std::uint64_t> signals_{0};
  Atomic<std::uint32_t> sleepers_{0};
  Mutex mutex_;
  CondVar condition_;
};

/// Wakes whoever sleeps on an EventCount. Copyable, any thread, may outlive the sleeper. A default-made one does
/// nothing.
class Waker {
 public:
  Waker() = default;
  explicit Waker(std::shared_ptr<EventCount> event) : event_(std::move(event)) {}
  void wake() const noexcept {
    if (event_) event_->signal();
  }
  explicit operator bool() const noexcept { return event_ != nullptr; }

 private:
  std::shared_ptr<EventCount> event_;
};

}  // namespace millrace
#pragma GCC visibility pop
