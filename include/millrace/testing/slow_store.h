// SPDX-License-Identifier: Apache-2.0
// SlowStore: another store behind a slow line: every request takes its time, any number of them side by side.
// Thread-safe; the test or benchmark owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "millrace/base/sync.h"
#include "millrace/base/time.h"
#include "millrace/store/object_store.h"

#pragma GCC visibility push(default)
namespace millrace::testing {

class DelayLine;

class SlowStore final : public ObjectStore {
 public:
  struct Options {
    Duration latency = std::chrono::milliseconds(30);  ///< of each request, before it begins
    std::uint64_t bytes_per_second = 0;                ///< of each request that moves bytes; 0: unlimited
    Clock* clock = &Clock::real();
  };
  SlowStore(std::shared_ptr<ObjectStore> inner, Options options);
  ~SlowStore() override;

  /// The most reads that were under way at one time.
  [[nodiscard]] std::size_t most_reads_in_flight() const noexcept { return reads_->most.load(memory_order_relaxed); }

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
  [[nodiscard]] Duration time_for(std::size_t bytes) const;
  [[nodiscard]] Result<void> take_time(std::size_t bytes);

  std::shared_ptr<ObjectStore> inner_;
  const Options options_;
  struct Reads {
    Atomic<std::size_t> now{0};
    Atomic<std::size_t> most{0};
  };
  std::shared_ptr<Reads> reads_;     ///< a read may outlive the store
  std::shared_ptr<DelayLine> line_;  // last: its tasks use everything above
};

}  // namespace millrace::testing
#pragma GCC visibility pop
