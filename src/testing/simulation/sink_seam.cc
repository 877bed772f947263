// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "testing/simulation/seams.h"

namespace millrace::testing {
namespace {

// Of a slow write: seconds, so that ages, intervals and drains come due meanwhile.
constexpr std::uint64_t kSlowMillis = 8000;
// How soon one hears of a cancel.
constexpr Duration kSlice = std::chrono::milliseconds(50);

class WriterSeam final : public Writer {
 public:
  WriterSeam(std::shared_ptr<SimulatedRun> run, std::unique_ptr<Writer> inner, bool ordered)
      : run_(std::move(run)), inner_(std::move(inner)), ordered_(ordered) {}

  Result<Receipt> write(SealedBatch& batch) override {
    if (!run_->step("write")) return fail(SimulatedRun::killed());
    ++run_->report.writes;
    run_->watch.tries(batch, ordered_);
    if (run_->happens(run_->faults.slow_writes)) {
      ++run_->report.faults;
      const Duration slow = std::chrono::milliseconds(1 + run_->random.below(kSlowMillis));
      const SteadyTime until = run_->scheduler.now() + slow;
      while (!cancelled_ && run_->scheduler.now() < until) run_->scheduler.let_pass(kSlice);
      if (cancelled_) return fail(Error::retryable(ErrorCode::cancelled, "the write was cancelled"));
    }
    if (run_->happens(run_->faults.refused_writes)) return fail(run_->refused("write"));
    if (!run_->step("about to write")) return fail(SimulatedRun::killed());
    Result<Receipt> written = inner_->write(batch);
    run_->watch.note(fmt::format("{}: partition {}, offsets {} to {}", written ? "written" : "not written",
                                 batch.chunk.partition.value(), batch.chunk.first_offset.value(),
                                 batch.chunk.last_offset.value()));
    if (!run_->step("written")) return fail(SimulatedRun::killed());
    if (written && run_->happens(run_->faults.lost_answers)) return fail(run_->refused("answer to a write"));
    return written;
  }
  Result<Recall> recall(PartitionId partition, Offset from, const Origin* origin) override {
    if (!run_->step("recall")) return fail(SimulatedRun::killed());
    if (run_->happens(run_->faults.refused_writes)) return fail(run_->refused("recall"));
    return inner_->recall(partition, from, origin);
  }
  Result<void> lost(SealedBatch& batch, const Error& error) override {
    if (!run_->step("lost")) return fail(SimulatedRun::killed());
    return inner_->lost(batch, error);
  }
  Result<void> close(SteadyTime deadline) override {
    if (!run_->step("close")) return fail(SimulatedRun::killed());
    return inner_->close(deadline);
  }
  void cancel() override {
    cancelled_ = true;
    if (!run_->dead) inner_->cancel();
  }

 private:
  const std::shared_ptr<SimulatedRun> run_;
  const std::unique_ptr<Writer> inner_;
  bool cancelled_ = false;
  const bool ordered_;
};

class SinkSeam final : public Sink {
 public:
  SinkSeam(std::shared_ptr<SimulatedRun> run, std::unique_ptr<Sink> inner)
      : run_(std::move(run)), inner_(std::move(inner)) {}

  std::string_view type() const override { return inner_->type(); }
  SealPolicy seal_policy() const override { return inner_->seal_policy(); }
  Envelope envelope() const override { return inner_->envelope(); }
  EncodeSpec encode_spec() const override { return inner_->encode_spec(); }
  RouteSpec route_spec() const override { return inner_->route_spec(); }
  RetryPolicy retry_policy() const override { return inner_->retry_policy(); }
  SinkTraits traits() const override { return inner_->traits(); }

  Result<void> open(SinkContext context) override {
    if (!run_->step("open of the sink")) return fail(SimulatedRun::killed());
    return inner_->open(std::move(context));
  }
  Result<std::unique_ptr<Writer>> make_writer() override {
    MILLRACE_ASSIGN(auto writer, inner_->make_writer());
    return std::make_unique<WriterSeam>(run_, std::move(writer), inner_->traits().ordered);
  }
  void settled(std::span<const PartitionWatermark> watermarks) override {
    if (!run_->dead) inner_->settled(watermarks);
  }
  Result<void> close() override {
    if (!run_->step("close of the sink")) return fail(SimulatedRun::killed());
    return inner_->close();
  }

 private:
  const std::shared_ptr<SimulatedRun> run_;
  const std::unique_ptr<Sink> inner_;
};

}  // namespace

std::unique_ptr<Sink> simulated_sink(std::shared_ptr<SimulatedRun> run, std::unique_ptr<Sink> inner) {
  return std::make_unique<SinkSeam>(std::move(run), std::move(inner));
}

}  // namespace millrace::testing
