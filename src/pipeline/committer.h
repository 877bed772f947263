// SPDX-License-Identifier: Apache-2.0
// Committer: takes watermarks from the checkpointer to the source, and keeps what could not be committed for the next
// time. Control thread.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "millrace/base/backoff.h"
#include "millrace/checkpoint/checkpointer.h"
#include "millrace/source/source.h"
#include "pipeline/control_metrics.h"

namespace millrace {

class Committer {
 public:
  struct Options {
    Source* source = nullptr;
    Checkpointer* checkpointer = nullptr;
    ControlMetrics* metrics = nullptr;
    Clock* clock = &Clock::real();
    Random* random = &Random::system();
    Logger log;
    Duration interval{0};
    /// Told of what a commit has taken.
    std::function<void(std::span<const PartitionWatermark>)> committed;
  };
  explicit Committer(Options options) : options_(std::move(options)), last_(options_.clock->now()) {}

  /// When the next regular commit is due.
  [[nodiscard]] SteadyTime due() const { return last_ + options_.interval; }
  /// One commit of what has moved. What fails is put back, to be merged with what moves until the next commit. A
  /// retryable failure is logged and is no error here. `held_up`: batches wait for their writes, so that nothing has
  /// moved is no success.
  [[nodiscard]] Result<void> commit(bool held_up);
  /// Commits what has moved and makes it durable; tries again until `deadline`, once in any case. An error means that
  /// something acknowledged is not known to be committed (INV-2).
  [[nodiscard]] Result<void> commit_and_flush(SteadyTime deadline);

  /// `partition` may be read again from before its committed watermark: nothing is committed of it until the new
  /// watermark is past that one, as a position never goes backwards. For a lane whose successor was made before it was
  /// drained.
  void hold(PartitionId partition);
  /// `partition` was given back; its next owner's position is the source's own affair.
  void let_go(PartitionId partition) { floors_.erase(partition); }

  [[nodiscard]] bool failing() const noexcept { return failing_; }
  /// When a commit last succeeded, or was due while there was nothing to commit, or the run began.
  [[nodiscard]] SteadyTime succeeded() const noexcept { return succeeded_; }
  /// What this run has committed, by partition.
  [[nodiscard]] const std::map<PartitionId, Watermark>& committed() const noexcept { return committed_; }

 private:
  [[nodiscard]] Result<void> commit_once(bool held_up);
  [[nodiscard]] bool is_behind(const PartitionWatermark& moved) const;
  void idle_until(SteadyTime deadline);

  const Options options_;
  std::map<PartitionId, Watermark> committed_;
  std::map<PartitionId, Watermark> floors_;  ///< of the partitions held
  SteadyTime last_;
  SteadyTime succeeded_ = last_;
  bool failing_ = false;
};

}  // namespace millrace
