// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "testing/simulation/seams.h"

namespace millrace::testing {
namespace {

class LaneSeam final : public SourceLane {
 public:
  LaneSeam(std::shared_ptr<SimulatedRun> run, std::unique_ptr<SourceLane> inner)
      : run_(std::move(run)), inner_(std::move(inner)) {}
  LaneId id() const override { return inner_->id(); }
  PartitionId partition() const override { return inner_->partition(); }
  bool set_waker(Waker waker) override { return inner_->set_waker(std::move(waker)); }
  bool set_aside(Offset failed, const Error& error) override { return !run_->dead && inner_->set_aside(failed, error); }

  Result<PollResult> poll(std::size_t max_records, Duration timeout) override {
    if (!run_->step("poll")) return fail(SimulatedRun::killed());
    Result<PollResult> polled = inner_->poll(1 + run_->random.below(std::min<std::size_t>(max_records, 4)), timeout);
    if (polled && std::holds_alternative<PayloadBatch>(*polled)) {
      const auto& batch = std::get<PayloadBatch>(*polled);
      run_->watch.read(batch);
      if (!batch.payloads.empty()) {
        run_->watch.note(fmt::format("lane {} reads {} from offset {}", id().value(), batch.payloads.size(),
                                     batch.offset(0).value()));
      }
    }
    return polled;
  }

 private:
  const std::shared_ptr<SimulatedRun> run_;
  const std::unique_ptr<SourceLane> inner_;
};

class SourceSeam final : public Source {
 public:
  SourceSeam(std::shared_ptr<SimulatedRun> run, std::unique_ptr<Source> inner)
      : run_(std::move(run)), inner_(std::move(inner)) {}

  bool keeps_account() const override { return inner_->keeps_account(); }
  std::string replay_gap() const override { return inner_->replay_gap(); }
  bool bounded() const override { return inner_->bounded(); }
  SourceProgress progress() const override { return inner_->progress(); }

  Result<void> open(SourceContext context) override {
    if (!run_->step("open")) return fail(SimulatedRun::killed());
    return inner_->open(std::move(context));
  }

  Result<SourceEvent> poll_events(Duration timeout) override {
    if (!run_->step("poll_events")) return fail(SimulatedRun::killed());
    if (run_->rebalance && run_->rebalances_left > 0 && !partitions_.empty() &&
        run_->happens(run_->faults.rebalances)) {
      --run_->rebalances_left;
      ++run_->report.rebalances;
      run_->watch.note("rebalance");
      run_->rebalance();
    }
    Result<SourceEvent> event = inner_->poll_events(timeout);
    if (!event) return event;
    if (auto* assigned = std::get_if<LanesAssigned>(&*event)) {
      for (auto& lane : assigned->lanes) {
        run_->watch.assigned(lane->partition());
        partitions_[lane->id()] = lane->partition();
        lane = std::make_unique<LaneSeam>(run_, std::move(lane));
      }
      run_->watch.note(fmt::format("assigned: {} lanes", assigned->lanes.size()));
    } else if (std::holds_alternative<LanesRevoked>(*event)) {
      run_->watch.note("revoked");
    } else if (std::holds_alternative<Finished>(*event) && run_->holds_finished && run_->rebalances_left > 0) {
      return Idle{};  // its script goes on
    }
    return event;
  }

  Result<void> commit(std::span<const PartitionWatermark> watermarks) override {
    if (!run_->step("commit")) return fail(SimulatedRun::killed());
    ++run_->report.commits;
    run_->watch.commits(watermarks);
    if (run_->happens(run_->faults.refused_commits)) return fail(run_->refused("commit"));
    MILLRACE_TRY(inner_->commit(watermarks));
    run_->watch.committed(watermarks);
    if (!run_->step("committed")) return fail(SimulatedRun::killed());
    return {};
  }
  Result<void> flush_commits_by(SteadyTime deadline) override {
    if (!run_->step("flush_commits")) return fail(SimulatedRun::killed());
    return inner_->flush_commits_by(deadline);
  }
  void pause(std::span<const LaneId> lanes) override {
    if (run_->step("pause")) inner_->pause(lanes);
  }
  void resume(std::span<const LaneId> lanes) override {
    if (run_->step("resume")) inner_->resume(lanes);
  }
  void revoked(std::span<const LaneId> lanes) override {
    for (const LaneId lane : lanes) run_->watch.taken_away(partitions_[lane]);
    if (run_->step("told of the revocation")) inner_->revoked(lanes);
  }
  void close_by(SteadyTime deadline) override {
    if (!run_->dead) inner_->close_by(deadline);
  }

 private:
  const std::shared_ptr<SimulatedRun> run_;
  const std::unique_ptr<Source> inner_;
  std::map<LaneId, PartitionId> partitions_;
};

}  // namespace

bool SimulatedRun::step(std::string_view where) {
  if (!dead) {
    scheduler.step();
    if (!dead && happens(faults.kills)) {
      dead = true;
      ++report.kills;
      watch.note(fmt::format("killed at {}", where));
      stop();
    } else if (!dead && !stopped && happens(faults.stops)) {
      stopped = true;
      ++report.stops;
      watch.note(fmt::format("asked to stop at {}", where));
      stop();
    }
  }
  return !dead;
}

Error SimulatedRun::killed() { return Error::fatal(ErrorCode::cancelled, "the run was killed"); }

Error SimulatedRun::refused(std::string_view what) {
  ++report.faults;
  watch.note(fmt::format("{} refused", what));
  return Error::retryable(ErrorCode::unavailable, fmt::format("the {} was refused", what));
}

std::unique_ptr<Source> simulated_source(std::shared_ptr<SimulatedRun> run, std::unique_ptr<Source> inner) {
  return std::make_unique<SourceSeam>(std::move(run), std::move(inner));
}

}  // namespace millrace::testing
