// SPDX-License-Identifier: Apache-2.0
// SinkPool: one sink of a run with its queue, its writers and their threads. Owned and driven by the control thread;
// the queue is used by lanes, the rest by the workers.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pipeline/abandonable_thread.h"
#include "pipeline/sink_loop.h"

namespace millrace {

class SinkPool {
 public:
  struct Options {
    std::string name;  ///< under which chains find it
    std::shared_ptr<Sink> sink;
    SinkContext context;  ///< `meter` and `log` carry the sink's component
    std::shared_ptr<InflightBudget> budget;
    std::shared_ptr<RunBoard> board;
    ThreadHost* host = &ThreadHost::real();
  };
  /// Opens the sink and makes its writers. No thread runs yet.
  static Result<std::unique_ptr<SinkPool>> open(Options options);
  ~SinkPool();
  SinkPool(const SinkPool&) = delete;
  SinkPool& operator=(const SinkPool&) = delete;

  /// Batches that this sink gives up are kept by `letters`, which is closed after it. Before start().
  void give_up_to(std::shared_ptr<LostBatches> place);
  /// Of the letters' own pool: what the others give up goes through it.
  [[nodiscard]] std::shared_ptr<LostBatches> make_lost_batches();
  void start();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// How a lane's end of this sink is made; the lane fills in who it is.
  [[nodiscard]] const LaneSink::Options& lane_options() const noexcept { return lane_options_; }
  /// It holds dead letters, written as encode_spec() says.
  [[nodiscard]] bool holds_letters() const noexcept { return shared_->holds_letters(); }
  [[nodiscard]] EncodeSpec encode_spec() const { return shared_->sink->encode_spec(); }
  [[nodiscard]] SinkQueue& queue() noexcept { return shared_->queue; }
  /// Lives as long as anybody uses the queue.
  [[nodiscard]] std::shared_ptr<void> keep_alive() const { return shared_; }

  /// A write is under way that needs nobody else to end it when it gets nowhere.
  [[nodiscard]] bool trusted_write() const noexcept {
    return writes_time_out_ && shared_->writing.load(memory_order_relaxed) != 0;
  }

  void settled(std::span<const PartitionWatermark> watermarks) { shared_->sink->settled(watermarks); }
  void post_depth() { shared_->metrics.queue_depth.set(static_cast<double>(shared_->queue.depth())); }

  /// Tries end at `deadline` from now on.
  void begin_drain(SteadyTime deadline) { shared_->gate.begin_drain(deadline); }
  /// Ends the workers and closes writers and sink. What no worker has taken fails; a write under way may end by
  /// `deadline`. A worker that does not come back is then told to cancel, and after a grace left behind. An error means
  /// that the sink may not hold what it said it holds.
  [[nodiscard]] Result<void> close(SteadyTime deadline);

 private:
  SinkPool(std::string name, std::shared_ptr<SinkShared> shared, std::vector<std::shared_ptr<Writer>> writers,
           LaneSink::Options lane_options, bool writes_time_out, ThreadHost& host);
  [[nodiscard]] std::size_t join_workers(SteadyTime deadline);
  [[nodiscard]] Result<void> leave_workers_behind();

  const std::string name_;
  const std::shared_ptr<SinkShared> shared_;
  const std::vector<std::shared_ptr<Writer>> writers_;
  const LaneSink::Options lane_options_;
  const bool writes_time_out_;
  ThreadHost* const host_;
  std::vector<AbandonableThread> workers_;
  bool closed_ = false;
};

}  // namespace millrace
