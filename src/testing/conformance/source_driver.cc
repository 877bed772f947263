// SPDX-License-Identifier: Apache-2.0
#include "testing/conformance/source_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace millrace::conformance {
namespace {

// Of a poll that is not about waiting: short, so that lanes take turns.
constexpr Duration kTurn = std::chrono::milliseconds(1);

std::string wrong_columns(const PayloadBatch& batch, const DrivenLane& lane) {
  const std::size_t count = batch.payloads.size();
  const auto fits = [count](std::size_t column) { return column == 0 || column == count; };
  if (batch.partition != lane.partition) {
    return fmt::format("a batch of lane {} says partition {}, the lane's is {}", lane.id.value(),
                       batch.partition.value(), lane.partition.value());
  }
  if (!fits(batch.offsets.size()) || !fits(batch.timestamps.size()) || !fits(batch.keys.size()) ||
      !fits(batch.headers.size())) {
    return fmt::format("a batch of lane {} has {} payloads and a column of another length", lane.id.value(), count);
  }
  return {};
}

}  // namespace

Offset TakenBatch::last() const { return *std::ranges::max_element(offsets); }

class SourceDriver::Barrier final : public DrainBarrier {
 public:
  explicit Barrier(SourceDriver& driver) : driver_(driver) {}
  std::vector<PartitionWatermark> wait() override {
    driver_.barrier_asked = true;
    return driver_.at_barrier ? driver_.at_barrier() : std::vector<PartitionWatermark>();
  }

 private:
  SourceDriver& driver_;
};

SourceDriver::SourceDriver(const SourceUnderTest& world, const SourceOptions& options)
    : world_(world), options_(options) {}

SourceDriver::~SourceDriver() { kill(); }

void SourceDriver::kill() {
  lanes_.clear();
  source_.reset();
}

bool SourceDriver::out_of_patience(SteadyTime since, std::string_view for_what) {
  if (Clock::real().now() - since < options_.patience) return false;
  failure_ = fmt::format("{} did not come in time", for_what);
  return true;
}

bool SourceDriver::start() {
  Result<std::unique_ptr<Source>> made = world_.make();
  if (!made || !*made) {
    failure_ = made ? "the factory gave no source" : "the source was not made: " + made.error().message();
    return false;
  }
  source_ = *std::move(made);
  SourceContext context;
  context.acks = checkpointer_.issuer();
  context.pipeline = "conformance";
  context.random = options_.random;
  if (source_->keeps_account()) context.ledger = std::make_shared<Ledger>();
  context.max_inflight_bytes = 64U << 20U;
  context.begin_revocation = [this](std::span<const LaneId>) {
    if (at_begin_revocation) at_begin_revocation();
    return std::make_shared<Barrier>(*this);
  };
  if (auto opened = source_->open(std::move(context)); !opened) {
    failure_ = "open failed: " + opened.error().message();
    return false;
  }
  const SteadyTime begun = Clock::real().now();
  while (lanes_.empty()) {
    if (!serve_event() && (!failure_.empty() || out_of_patience(begun, "an assignment of lanes"))) return false;
    if (finished_ && lanes_.empty()) {
      failure_ = "the source said Finished before it gave a lane";
      return false;
    }
  }
  return true;
}

bool SourceDriver::serve_event() {
  if (finished_) return false;
  Result<SourceEvent> event = source_->poll_events(Duration::zero());
  if (!event) {
    failure_ = "poll_events failed: " + event.error().message();
    return false;
  }
  if (auto* assigned = std::get_if<LanesAssigned>(&*event)) {
    take(std::move(*assigned));
  } else if (const auto* revoked = std::get_if<LanesRevoked>(&*event)) {
    take_away(*revoked);
  } else if (std::holds_alternative<Finished>(*event)) {
    finished_ = true;
  } else {
    return false;
  }
  return true;
}

// Lanes of an assignment that came too early are kept beside the new ones, so that only the rule about it speaks.
void SourceDriver::take(LanesAssigned assigned) {
  ++assignments_;
  std::vector<std::uint32_t> live;
  for (const DrivenLane& lane : lanes_) {
    if (!lane.exhausted) live.push_back(lane.id.value());
  }
  if (!live.empty()) {
    delta = fmt::format(
        "assignment {} gives {} lanes while lane {} and {} more of the one before are live and were "
        "not revoked",
        assignments_, assigned.lanes.size(), live.front(), live.size() - 1);
  }
  std::set<LaneId> ids;
  std::set<PartitionId> partitions;
  for (auto& lane : assigned.lanes) {
    if (!lane) {
      twice = fmt::format("assignment {} holds a null lane", assignments_);
      continue;
    }
    const LaneId id = lane->id();
    const PartitionId partition = lane->partition();
    if (!ids.insert(id).second) twice = fmt::format("lane {} stands twice in assignment {}", id.value(), assignments_);
    if (!partitions.insert(partition).second) {
      twice = fmt::format("partition {} has two lanes in assignment {}, the second is lane {}", partition.value(),
                          assignments_, id.value());
    }
    const bool takes = waker && lane->set_waker(Waker(waker));
    lanes_.push_back({.lane = std::move(lane), .id = id, .partition = partition, .has_waker = takes});
  }
  for (const DrivenLane& lane : lanes_) partitions.insert(lane.partition);
  const std::vector<PartitionId> all(partitions.begin(), partitions.end());
  checkpointer_.begin_epoch(all);
}

void SourceDriver::take_away(const LanesRevoked& revoked) {
  ++revocations_;
  const auto goes = [&](const DrivenLane& lane) {
    return std::ranges::find(revoked.lanes, lane.id) != revoked.lanes.end();
  };
  std::vector<PartitionId> partitions;
  for (const DrivenLane& lane : lanes_) {
    if (goes(lane)) partitions.push_back(lane.partition);
  }
  if (!barrier_asked && at_barrier) {
    const std::vector<PartitionWatermark> final = at_barrier();
    if (!final.empty()) {
      if (auto done = source_->commit(final); !done) failure_ = "the last commit failed: " + done.error().message();
    }
  }
  if (auto flushed = source_->flush_commits_by(Clock::real().now() + options_.patience); !flushed) {
    failure_ = "flush_commits failed: " + flushed.error().message();
  }
  checkpointer_.revoke(partitions);
  std::erase_if(lanes_, goes);
  source_->revoked(revoked.lanes);
}

bool SourceDriver::wait_for_new_lanes() {
  const std::size_t before = revocations_;
  std::size_t assigned = assignments_;
  const SteadyTime begun = Clock::real().now();
  while (revocations_ == before || assignments_ == assigned) {
    if (revocations_ == before) assigned = assignments_;
    if (!serve_event() && (!failure_.empty() || out_of_patience(begun, "a revocation and another assignment"))) {
      return false;
    }
  }
  return true;
}

bool SourceDriver::all_exhausted() const {
  return std::ranges::all_of(lanes_, [](const DrivenLane& lane) { return lane.exhausted; });
}

bool SourceDriver::next(std::size_t max_records, TakenBatch& batch, std::optional<std::size_t> only) {
  const SteadyTime begun = Clock::real().now();
  for (;;) {
    if (only ? lanes_.at(*only).exhausted : all_exhausted()) return false;
    const std::size_t index = only.value_or(turn_++ % lanes_.size());
    DrivenLane& lane = lanes_[index];
    if (lane.exhausted) continue;
    Result<PollResult> polled = lane.lane->poll(max_records, lane.has_waker ? Duration::zero() : kTurn);
    if (!polled) {
      failure_ = fmt::format("a poll of lane {} failed: {}", lane.id.value(), polled.error().message());
      return false;
    }
    if (std::holds_alternative<Exhausted>(*polled)) {
      lane.exhausted = true;
    } else if (auto* came = std::get_if<PayloadBatch>(&*polled); came != nullptr && !came->payloads.empty()) {
      batch = {.lane = index, .partition = lane.partition, .malformed = wrong_columns(*came, lane)};
      for (std::size_t i = 0; i < came->payloads.size(); ++i) {
        batch.payloads.emplace_back(came->payloads[i]);
        batch.offsets.push_back(came->offsets.size() > i ? came->offsets[i] : came->offset(i));
      }
      batch.has_ack = static_cast<bool>(came->ack);
      batch.ack = std::move(came->ack);
      return true;
    }
    std::ignore = serve_event();
    if (!failure_.empty() || out_of_patience(begun, "a record")) return false;
  }
}

void SourceDriver::note(const TakenBatch& batch) {
  for (std::size_t i = 0; i < batch.offsets.size(); ++i) {
    records_[batch.partition][batch.offsets[i]] = batch.payloads[i];
  }
}

bool SourceDriver::read_all(std::size_t max_records) {
  while (record_count() < world_.records) {
    TakenBatch batch;
    if (!next(max_records, batch)) {
      if (failure_.empty()) {
        failure_ = fmt::format("all lanes came to their end after {} of {} records", record_count(), world_.records);
      }
      return false;
    }
    note(batch);
  }
  return true;
}

Result<void> SourceDriver::commit(PartitionId partition, Watermark watermark) {
  const PartitionWatermark moved{partition, watermark};
  MILLRACE_TRY(source_->commit(std::span(&moved, 1)));
  return source_->flush_commits_by(Clock::real().now() + options_.patience);
}

std::uint64_t SourceDriver::record_count() const {
  std::uint64_t count = 0;
  for (const auto& [partition, records] : records_) count += records.size();
  return count;
}

}  // namespace millrace::conformance
