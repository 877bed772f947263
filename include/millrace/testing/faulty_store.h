// SPDX-License-Identifier: Apache-2.0
// FaultyStore: another store that fails by script: the nth matching call gives an error, a short read, a wrong ETag, an
// answer that is lost, or none at all. Thread-safe; the test owns it.
//
//   FaultyStore store(memory);
//   store.add({.op = StoreOp::read, .key = "in/a", .nth = 2, .short_after = 100});
//   store.add({.op = StoreOp::put, .times = Fault::kAlways, .error = Error::retryable(ErrorCode::unavailable, "503")});
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/sync.h"
#include "millrace/base/time.h"
#include "millrace/store/object_store.h"
#include "millrace/testing/memory_store.h"

#pragma GCC visibility push(default)
namespace millrace::testing {

class DelayLine;

struct Fault {
  static constexpr std::uint64_t kAlways = UINT64_MAX;

  // Which calls: each fault counts the calls that match it, whether they are hit or not.
  std::optional<StoreOp> op{};  ///< nothing: any call
  std::string key{};            ///< keys (for listings: prefixes) that contain this; empty: any
  std::uint64_t nth = 1;        ///< the first matching call that is hit, from 1
  std::uint64_t times = 1;      ///< how many in a row are hit

  // What happens, in this order.
  Duration delay{0};
  bool hang = false;                         ///< waits until it is cancelled or release() is called
  std::function<void()> before{};            ///< for instance: overwrites the object that is being read
  bool ignore_condition = false;             ///< put, complete_upload: the condition is dropped on the way (B07)
  std::optional<std::size_t> short_after{};  ///< read: so many bytes arrive and are good, then `error` (by default
                                             ///< interrupted_transfer, retryable)
  std::optional<Error> error{};              ///< instead of the call; with `done_anyway` after it
  bool done_anyway = false;                  ///< the inner store does it, and its answer is lost
  std::optional<ETag> etag{};                ///< what the answer says instead of the true ETag
};

class FaultyStore final : public ObjectStore {
 public:
  explicit FaultyStore(std::shared_ptr<ObjectStore> inner, Clock& clock = Clock::real());
  ~FaultyStore() override;

  /// The first fault that hits a call is the one that happens.
  void add(Fault fault);
  /// Forgets the script; what hangs goes on.
  void clear();
  /// Lets go on what hangs or is delayed now.
  void release();
  /// Calls that some fault has hit.
  [[nodiscard]] std::uint64_t hits() const noexcept { return hits_.load(memory_order_relaxed); }
  /// Calls that hang now, so that a test can wait for one.
  [[nodiscard]] std::size_t hanging() const noexcept { return hanging_->load(memory_order_acquire); }

  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] Result<ListPage> list(const ListRequest& request) override;
  std::shared_ptr<ReadHandle> start_read(ReadRequest request) override;
  [[nodiscard]] Result<WholeObject> get(std::string_view key, std::size_t limit,
                                        std::optional<Duration> timeout = {}) override;
  [[nodiscard]] Result<PutResult> put(const PutRequest& request) override;
  [[nodiscard]] Result<HeadResult> head(std::string_view key) override;
  [[nodiscard]] Result<void> remove(std::string_view key) override;
  [[nodiscard]] Result<UploadId> begin_upload(const UploadRequest& request) override;
  [[nodiscard]] Result<PartResult> put_part(const UploadId& upload, int number, std::string_view body,
                                            std::optional<Duration> timeout = {}) override;
  [[nodiscard]] Result<PutResult> complete_upload(const UploadId& upload, std::span<const PartResult> parts,
                                                  PutCondition condition = PutCondition::none,
                                                  std::optional<Duration> timeout = {}) override;
  [[nodiscard]] Result<void> abort_upload(const UploadId& upload) override;
  [[nodiscard]] Result<UploadPage> list_uploads(const ListUploadsRequest& request) override;
  [[nodiscard]] ReadAdvice read_advice() const override;
  void cancel_all() override;

 private:
  struct Scripted {
    Fault fault;
    std::uint64_t matched = 0;
  };
  [[nodiscard]] std::optional<Fault> hit(StoreOp op, std::string_view key);
  [[nodiscard]] Result<void> suffer(const Fault& fault);
  template <class T, class Call>
  Result<T> call(StoreOp op, std::string_view key, Call inner);

  std::shared_ptr<ObjectStore> inner_;
  mutable Mutex mutex_;
  std::vector<Scripted> script_ MILLRACE_GUARDED_BY(mutex_);
  Atomic<std::uint64_t> hits_{0};
  std::shared_ptr<Atomic<std::size_t>> hanging_;
  std::shared_ptr<DelayLine> line_;
};

}  // namespace millrace::testing
#pragma GCC visibility pop
