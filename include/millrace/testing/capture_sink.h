// SPDX-License-Identifier: Apache-2.0
// CaptureSink: a whole sink that keeps what is written, and whose writes fail, wait or throw as a test says. The
// Capture is the test's end of it and outlives the sink.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/sink/sink.h"

#pragma GCC visibility push(default)
namespace millrace::testing {

struct CapturedBatch {
  std::string bytes;
  std::uint64_t records = 0;
  PartitionId partition;
  Offset first_offset, last_offset;
  SealReason reason = SealReason::drain;
  IdempotencyToken token;
  std::shared_ptr<const Origin> origin;
};

/// Thread-safe.
class Capture {
 public:
  /// What was written, in the order of its writes.
  [[nodiscard]] std::vector<CapturedBatch> batches() const;
  /// All written bytes, cut at line feeds.
  [[nodiscard]] std::vector<std::string> lines() const;
  /// Every try of a write, failed ones too.
  [[nodiscard]] std::vector<IdempotencyToken> tries() const;
  [[nodiscard]] std::size_t cancels() const;
  [[nodiscard]] std::size_t closed_writers() const;
  [[nodiscard]] bool closed() const;

  /// Decides each try before anything else: an error fails it. May throw, as a writer of a user would.
  void decide(std::function<std::optional<Error>(const SealedBatch&)> decision);
  /// Answers what a lane's partition has already (SinkTraits::recalls).
  void recall(std::function<Result<Recall>(PartitionId)> answer);
  /// The next `count` tries fail with `error`.
  void fail_next(std::size_t count, Error error);
  /// Tries wait until release(); cancel() ends their wait unless they are told to ignore it.
  void hold();
  void release();
  /// Lets one held try go on.
  void release_one();
  void ignore_cancel();
  void fail_close(Error error);
  /// Each waits (in real time) until there were so many, for at most a minute; false when there never were.
  [[nodiscard]] bool wait_for_batches(std::size_t count) const;
  [[nodiscard]] bool wait_for_tries(std::size_t count) const;
  [[nodiscard]] bool wait_for_held(std::size_t count) const;
  [[nodiscard]] bool wait_for_closed_writers(std::size_t count) const;

 private:
  friend class CaptureWriter;
  friend class CaptureSink;
  [[nodiscard]] Result<Receipt> write(SealedBatch& batch, const Atomic<bool>& cancelled);
  [[nodiscard]] Result<Recall> recall_of(PartitionId partition);
  void cancel();
  [[nodiscard]] Result<void> close_writer();
  void close_sink();
  [[nodiscard]] bool wait(const std::function<bool()>& condition) const MILLRACE_REQUIRES(mutex_);

  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::vector<CapturedBatch> batches_ MILLRACE_GUARDED_BY(mutex_);
  std::vector<IdempotencyToken> tries_ MILLRACE_GUARDED_BY(mutex_);
  std::deque<Error> failures_ MILLRACE_GUARDED_BY(mutex_);
  std::function<std::optional<Error>(const SealedBatch&)> decision_ MILLRACE_GUARDED_BY(mutex_);
  std::function<Result<Recall>(PartitionId)> recall_ MILLRACE_GUARDED_BY(mutex_);
  std::optional<Error> close_error_ MILLRACE_GUARDED_BY(mutex_);
  std::size_t held_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::size_t cancels_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::size_t closed_writers_ MILLRACE_GUARDED_BY(mutex_) = 0;
  bool closed_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool hold_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::size_t passes_ MILLRACE_GUARDED_BY(mutex_) = 0;  ///< held tries that may go on
  bool ignores_cancel_ MILLRACE_GUARDED_BY(mutex_) = false;
};

struct CaptureSinkOptions {
  SealPolicy policy;
  Envelope envelope;
  EncodeSpec encode;
  RetryPolicy retry;
  SinkTraits traits;
  std::optional<Error> open_error;
};

class CaptureSink final : public Sink {
 public:
  CaptureSink(std::shared_ptr<Capture> capture, CaptureSinkOptions options)
      : capture_(std::move(capture)), options_(std::move(options)) {}
  static Result<std::unique_ptr<Sink>> make(std::shared_ptr<Capture> capture, CaptureSinkOptions options = {}) {
    return std::make_unique<CaptureSink>(std::move(capture), std::move(options));
  }

  [[nodiscard]] std::string_view type() const override { return "capture"; }
  [[nodiscard]] Result<void> open(SinkContext context) override;
  [[nodiscard]] Result<std::unique_ptr<Writer>> make_writer() override;
  [[nodiscard]] SealPolicy seal_policy() const override { return options_.policy; }
  [[nodiscard]] Envelope envelope() const override { return options_.envelope; }
  [[nodiscard]] EncodeSpec encode_spec() const override { return options_.encode; }
  [[nodiscard]] RetryPolicy retry_policy() const override { return options_.retry; }
  [[nodiscard]] SinkTraits traits() const override { return options_.traits; }
  [[nodiscard]] Result<void> close() override;

 private:
  const std::shared_ptr<Capture> capture_;
  const CaptureSinkOptions options_;
};

}  // namespace millrace::testing
#pragma GCC visibility pop
