// SPDX-License-Identifier: Apache-2.0
#include "millrace/testing/capture_sink.h"

#include <utility>

namespace millrace::testing {

class CaptureWriter final : public Writer {
 public:
  explicit CaptureWriter(std::shared_ptr<Capture> capture) : capture_(std::move(capture)) {}
  Result<Receipt> write(SealedBatch& batch) override { return capture_->write(batch, cancelled_); }
  Result<Recall> recall(PartitionId partition, Offset /*from*/, const Origin* /*origin*/) override {
    return capture_->recall_of(partition);
  }
  Result<void> close(SteadyTime /*deadline*/) override { return capture_->close_writer(); }
  void cancel() override {
    cancelled_.store(true, memory_order_release);
    capture_->cancel();
  }

 private:
  const std::shared_ptr<Capture> capture_;
  Atomic<bool> cancelled_{false};
};

std::vector<CapturedBatch> Capture::batches() const {
  const MutexLock lock(mutex_);
  return batches_;
}

std::vector<std::string> Capture::lines() const {
  std::vector<std::string> lines;
  std::string line;
  for (const CapturedBatch& batch : batches()) {
    for (const char byte : batch.bytes) {
      if (byte == '\n') {
        lines.push_back(std::exchange(line, {}));
      } else {
        line += byte;
      }
    }
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::vector<IdempotencyToken> Capture::tries() const {
  const MutexLock lock(mutex_);
  return tries_;
}

std::size_t Capture::cancels() const {
  const MutexLock lock(mutex_);
  return cancels_;
}

std::size_t Capture::closed_writers() const {
  const MutexLock lock(mutex_);
  return closed_writers_;
}

bool Capture::closed() const {
  const MutexLock lock(mutex_);
  return closed_;
}

void Capture::decide(std::function<std::optional<Error>(const SealedBatch&)> decision) {
  const MutexLock lock(mutex_);
  decision_ = std::move(decision);
}

void Capture::recall(std::function<Result<Recall>(PartitionId)> answer) {
  const MutexLock lock(mutex_);
  recall_ = std::move(answer);
}

Result<Recall> Capture::recall_of(PartitionId partition) {
  const MutexLock lock(mutex_);
  return recall_ ? recall_(partition) : Recall();
}

void Capture::fail_next(std::size_t count, Error error) {
  const MutexLock lock(mutex_);
  for (std::size_t i = 0; i < count; ++i) failures_.push_back(error);
}

void Capture::hold() {
  const MutexLock lock(mutex_);
  hold_ = true;
}

void Capture::release() {
  const MutexLock lock(mutex_);
  hold_ = false;
  changed_.notify_all();
}

void Capture::release_one() {
  const MutexLock lock(mutex_);
  ++passes_;
  changed_.notify_all();
}

void Capture::ignore_cancel() {
  const MutexLock lock(mutex_);
  ignores_cancel_ = true;
}

void Capture::fail_close(Error error) {
  const MutexLock lock(mutex_);
  close_error_ = std::move(error);
}

bool Capture::wait_for_batches(std::size_t count) const {
  const MutexLock lock(mutex_);
  return wait([&]() MILLRACE_REQUIRES(mutex_) { return batches_.size() >= count; });
}

bool Capture::wait_for_tries(std::size_t count) const {
  const MutexLock lock(mutex_);
  return wait([&]() MILLRACE_REQUIRES(mutex_) { return tries_.size() >= count; });
}

bool Capture::wait_for_held(std::size_t count) const {
  const MutexLock lock(mutex_);
  return wait([&]() MILLRACE_REQUIRES(mutex_) { return held_ >= count; });
}

bool Capture::wait_for_closed_writers(std::size_t count) const {
  const MutexLock lock(mutex_);
  return wait([&]() MILLRACE_REQUIRES(mutex_) { return closed_writers_ >= count; });
}

bool Capture::wait(const std::function<bool()>& condition) const {
  const SteadyTime deadline = Clock::real().now() + std::chrono::minutes(1);
  while (!condition()) {
    if (Clock::real().now() >= deadline) return false;
    Clock::real().wait_until(changed_, mutex_, deadline);
  }
  return true;
}

Result<Receipt> Capture::write(SealedBatch& batch, const Atomic<bool>& cancelled) {
  const MutexLock lock(mutex_);
  tries_.push_back(batch.token);
  ++held_;
  changed_.notify_all();
  while (hold_ && passes_ == 0 && (ignores_cancel_ || !cancelled.load(memory_order_acquire))) changed_.wait(mutex_);
  --held_;
  const bool passes = !hold_ || passes_ != 0;
  if (hold_ && passes) --passes_;
  if (!passes) return fail(Error::retryable(ErrorCode::cancelled, "the write was cancelled"));
  if (!failures_.empty()) {
    Error error = std::move(failures_.front());
    failures_.pop_front();
    return fail(std::move(error));
  }
  if (decision_) {
    if (auto error = decision_(batch)) return fail(std::move(*error));
  }
  const EncodedChunk& chunk = batch.chunk;
  MILLRACE_ASSIGN(const std::string_view body, batch.body());
  batches_.push_back({std::string(body), chunk.records, chunk.partition, chunk.first_offset, chunk.last_offset,
                      batch.reason, batch.token, chunk.origin});
  changed_.notify_all();
  return Receipt{"memory", body.size()};
}

void Capture::cancel() {
  const MutexLock lock(mutex_);
  ++cancels_;
  changed_.notify_all();
}

Result<void> Capture::close_writer() {
  const MutexLock lock(mutex_);
  ++closed_writers_;
  changed_.notify_all();
  if (close_error_) return fail(*close_error_);
  return {};
}

void Capture::close_sink() {
  const MutexLock lock(mutex_);
  closed_ = true;
}

Result<void> CaptureSink::open(SinkContext /*context*/) {
  if (options_.open_error) return fail(*options_.open_error);
  return {};
}

Result<std::unique_ptr<Writer>> CaptureSink::make_writer() { return std::make_unique<CaptureWriter>(capture_); }

Result<void> CaptureSink::close() {
  capture_->close_sink();
  return {};
}

}  // namespace millrace::testing
