// SPDX-License-Identifier: Apache-2.0
// LaneTask: one lane with its chain and its ends of the sinks, taken step by step by its thread. Owned by a lane thread
// from add to remove; the control thread sees its LaneStatus only.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "millrace/pipeline/chain.h"
#include "millrace/source/lane.h"
#include "pipeline/lane_metrics.h"
#include "pipeline/lane_rules.h"
#include "pipeline/lane_status.h"
#include "pipeline/run_board.h"

namespace millrace {

class LaneTask {
 public:
  struct Options {
    std::unique_ptr<SourceLane> lane;
    std::unique_ptr<LaneOutputs> outputs;
    std::unique_ptr<LaneChain> chain;
    AckIssuer issuer;
    std::shared_ptr<LaneStatus> status;
    std::shared_ptr<RunBoard> board;
    std::shared_ptr<LaneMetrics> metrics;
    Clock* clock = &Clock::real();
    std::size_t max_poll_records = 0;
    std::size_t max_pending_batches = 0;
    bool has_waker = false;  ///< the lane took one: its polls do not wait
  };
  explicit LaneTask(Options options);
  /// What it still holds fails: it will not be written.
  ~LaneTask();
  LaneTask(const LaneTask&) = delete;
  LaneTask& operator=(const LaneTask&) = delete;

  enum class Step {
    produced,  ///< a batch moved on; step again
    idle,      ///< the poll found nothing
    waiting,   ///< not polled: something else must happen first, which wakes the thread
  };
  /// Takes the lane one batch further: offer what is sealed, else go on with the parked batch, else poll. Waits at most
  /// `timeout`, in the poll, and not at all when the lane took a waker.
  Step step(Duration timeout);
  /// Seals for age and idle. Returns when it wants to be called next.
  SteadyTime tick(SteadyTime now);

  /// Takes no new batch; the one it holds goes through, what is open is sealed.
  void stop();

  /// Its next poll will wait for its timeout, as it has no waker.
  [[nodiscard]] bool waits_in_poll() const { return !options_.has_waker && may_poll_; }
  /// It could not be polled: something must happen first, which wakes the thread.
  [[nodiscard]] bool waits_for_event() const { return !may_poll_ && !failed_ && !(end_ && end_->posted); }
  /// It does not wait in its polls, as it should: its thread has to pace it.
  [[nodiscard]] bool spinning() const { return rules_.spinning(); }
  [[nodiscard]] LaneStatus& status() const noexcept { return *options_.status; }
  [[nodiscard]] const std::shared_ptr<LaneStatus>& shared_status() const noexcept { return options_.status; }

 private:
  [[nodiscard]] bool ready_to_poll();
  Step poll(Duration timeout);
  Step take(PayloadBatch batch);
  Step run_chain();
  void finish_batch();
  [[nodiscard]] bool set_aside(std::size_t failed_at, const Error& error);
  void fail_batch(std::size_t failed_at, Error error);
  AckRef keep_before(std::size_t failed_at);
  void fail_lane(Error error);
  void wind_up();
  bool offer();
  void seal_all(SealReason reason);
  [[nodiscard]] bool seal_what_holds_the_watermark();
  void count_left_out();
  void stop_asking();
  void abandon();
  void post_open();
  void set_phase(LanePhase phase);

  Options options_;
  LaneRules rules_;
  const std::string name_;       ///< "lane 3", as messages call it
  const std::string lane_code_;  ///< the source's code for it, and the chain's, as messages call them
  const std::string chain_code_;
  std::optional<PayloadBatch> batch_;  ///< on its way through the chain; borrows the lane
  AckRef ack_;                         ///< answers for what of it is not sealed yet
  std::size_t cursor_ = 0;             ///< the first payload the chain has not taken
  ChainCounts counts_;
  bool may_poll_ = true;
  bool failed_ = false;
  bool warned_of_size_ = false;
  /// What becomes of the lane once nothing of it is left here, and why its last chunks were sealed.
  struct End {
    LanePhase phase;
    SealReason reason;
    bool sealed = false;
    bool posted = false;
  };
  std::optional<End> end_;
};

}  // namespace millrace
