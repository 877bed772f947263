// SPDX-License-Identifier: Apache-2.0
// HeldStore: keeps reads until a test answers them one by one. Thread-safe.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/base/sync.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_source {

class HeldStore final : public ObjectStore {
 public:
  std::size_t read_bytes = 1000;
  std::size_t reads_in_flight = 64;

  [[nodiscard]] std::string describe() const override { return "held"; }
  [[nodiscard]] Result<ListPage> list(const ListRequest& /*request*/) override { return ListPage{}; }
  std::shared_ptr<ReadHandle> start_read(ReadRequest request) override {
    const MutexLock lock(mutex_);
    struct Handle final : ReadHandle {
      void cancel() override {
        const MutexLock guard(store->mutex_);
        store->cancelled_ = true;
        store->changed_.notify_all();
      }
      HeldStore* store = nullptr;
    };
    auto handle = std::make_shared<Handle>();
    handle->store = this;
    held_.push_back(std::move(request));
    ++started_;
    most_ = std::max(most_, held_.size());
    changed_.notify_all();
    return handle;
  }
  [[nodiscard]] Result<WholeObject> get(std::string_view, std::size_t, std::optional<Duration>) override {
    return none();
  }
  [[nodiscard]] Result<PutResult> put(const PutRequest& /*request*/) override { return none(); }
  [[nodiscard]] Result<HeadResult> head(std::string_view /*key*/) override { return none(); }
  [[nodiscard]] Result<void> remove(std::string_view /*key*/) override { return none(); }
  [[nodiscard]] ReadAdvice read_advice() const override { return {read_bytes, reads_in_flight}; }

  /// Waits until `count` reads are held.
  void wait_for(std::size_t count) {
    const MutexLock lock(mutex_);
    while (held_.size() < count) changed_.wait(mutex_);
  }
  /// Waits until the loop has asked to cancel.
  void wait_for_cancel() {
    const MutexLock lock(mutex_);
    while (!cancelled_) changed_.wait(mutex_);
  }
  [[nodiscard]] std::vector<std::string> held() {
    const MutexLock lock(mutex_);
    std::vector<std::string> all;
    for (const auto& request : held_) {
      all.push_back(fmt::format("{}@{}+{}", request.key, request.offset, request.destination.size()));
    }
    return all;
  }
  [[nodiscard]] std::size_t bytes_held() {
    const MutexLock lock(mutex_);
    std::size_t bytes = 0;
    for (const auto& request : held_) bytes += request.destination.size();
    return bytes;
  }
  [[nodiscard]] std::size_t started() {
    const MutexLock lock(mutex_);
    return started_;
  }
  [[nodiscard]] std::size_t most() {
    const MutexLock lock(mutex_);
    return most_;
  }
  /// Answers the nth held read, filled with its key's last character.
  void answer(std::size_t index, std::optional<Error> error = std::nullopt) {
    ReadRequest request;
    {
      const MutexLock lock(mutex_);
      request = std::move(held_[index]);
      held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
    }
    if (error) {
      request.done({fail(*std::move(error)), 0});
      return;
    }
    std::fill(request.destination.begin(), request.destination.end(), request.key.back());
    const std::size_t size = request.destination.size();
    request.done({ReadInfo{request.expected_object_size.value_or(0), request.if_match, 1, ""}, size});
  }

 private:
  static std::unexpected<Error> none() { return fail(Error::fatal(ErrorCode::not_supported, "only reads")); }
  Mutex mutex_;
  CondVar changed_;
  std::deque<ReadRequest> held_ MILLRACE_GUARDED_BY(mutex_);
  std::size_t started_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::size_t most_ MILLRACE_GUARDED_BY(mutex_) = 0;
  bool cancelled_ MILLRACE_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::s3_source
