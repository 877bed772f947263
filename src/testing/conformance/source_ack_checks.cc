// SPDX-License-Identifier: Apache-2.0
// Rules of acknowledgements and of revocations.
#include <fmt/format.h>

#include "testing/conformance/source_case.h"

namespace millrace::conformance {
namespace {

Outcome one_ack_per_batch(const SourceCase& test) {
  SourceDriver driver(test.world, test.options);
  if (!driver.start()) return not_tried(driver.failure());
  std::map<PartitionId, TakenBatch> before;
  while (driver.record_count() < test.world.records) {
    TakenBatch batch;
    if (!driver.next(1, batch)) return not_tried(driver.failure());
    driver.note(batch);
    const std::string where = fmt::format("the batch at offset {} of lane {}", batch.offsets.front().value(),
                                          driver.lanes()[batch.lane].id.value());
    if (!batch.has_ack) return broken(where + " carries no AckRef of the present epoch");
    if (batch.ack.partition() != batch.partition) {
      return broken(fmt::format("{} carries an AckRef of partition {}", where, batch.ack.partition().value()));
    }
    if (batch.ack.last_offset() < batch.last()) {
      return broken(fmt::format("{} ends at {}, its AckRef answers up to {}", where, batch.last().value(),
                                batch.ack.last_offset().value()));
    }
    if (const auto found = before.find(batch.partition); found != before.end()) {
      if (found->second.ack.same_batch(batch.ack)) return broken(where + " carries the AckRef of the batch before");
      if (found->second.ack.last_offset() >= batch.offsets.front()) {
        return broken(
            fmt::format("the AckRef of the batch before answers up to {}, and {} comes after it: its "
                        "record would be settled unread",
                        found->second.ack.last_offset().value(), where));
      }
    }
    before[batch.partition] = std::move(batch);
  }
  return kept();
}

Outcome acks_are_let_go(const SourceCase& test) {
  SourceDriver driver(test.world, test.options);
  if (!driver.start() || !driver.read_all()) return not_tried(driver.failure());
  driver.checkpointer().drain();
  const std::uint64_t pending = driver.checkpointer().pending();
  if (pending == 0) return kept();
  return broken(
      fmt::format("all batches were let go, and {} stay unresolved: the source keeps copies of their AckRefs, "
                  "or issues some that it gives to nobody",
                  pending));
}

Outcome stale_ack_moves_nothing(const SourceCase& test) {
  if (!test.world.rebalance) return not_applicable("no hook `rebalance` was given");
  SourceDriver driver(test.world, test.options);
  if (!driver.start()) return not_tried(driver.failure());
  TakenBatch old;
  if (!driver.next(1, old)) return not_tried(driver.failure());
  driver.checkpointer().drain();
  test.world.rebalance();
  if (!driver.wait_for_new_lanes()) return not_tried(driver.failure());
  old.ack.reset();  // of the epoch that is over
  driver.checkpointer().drain();
  if (!driver.checkpointer().take_watermarks().empty()) {
    return broken("an ack of the assignment before moved a watermark of this one");
  }
  TakenBatch fresh;
  if (!driver.next(1, fresh)) return not_tried(driver.failure());
  if (!fresh.has_ack) {
    return broken(
        fmt::format("the batch at offset {} of the new lane {} carries no AckRef of the new epoch: it was "
                    "issued before the lane was assigned",
                    fresh.offsets.front().value(), driver.lanes()[fresh.lane].id.value()));
  }
  fresh.ack.reset();
  if (driver.checkpointer().drain().stale != 0) {
    return broken(fmt::format("the batch at offset {} of the new lane {} carries an AckRef of the epoch before",
                              fresh.offsets.front().value(), driver.lanes()[fresh.lane].id.value()));
  }
  return kept();
}

// The position that is kept, where it can be asked for.
std::map<PartitionId, Watermark> stored(const SourceCase& test) {
  return test.world.committed ? test.world.committed() : std::map<PartitionId, Watermark>();
}

Outcome commit_after_barrier(const SourceCase& test) {
  if (!test.world.rebalance) return not_applicable("no hook `rebalance` was given");
  if (!test.world.committed) return not_applicable("no probe `committed` was given");
  SourceDriver driver(test.world, test.options);
  std::map<PartitionId, Watermark> at_begin;
  bool begun = false;
  bool moved = false;
  driver.at_begin_revocation = [&] {
    begun = true;
    at_begin = stored(test);
  };
  driver.at_barrier = [&] {
    moved = begun && stored(test) != at_begin;
    return std::vector<PartitionWatermark>();
  };
  if (!driver.start()) return not_tried(driver.failure());
  TakenBatch in_flight;
  if (!driver.next(1, in_flight)) return not_tried(driver.failure());
  test.world.rebalance();
  at_begin = stored(test);
  if (!driver.wait_for_new_lanes()) return not_tried(driver.failure());
  if (!begun) return not_applicable("the source begins no revocation inside poll_events");
  if (moved) {
    return broken("a position was kept after the revocation had begun and before DrainBarrier::wait returned");
  }
  if (!driver.barrier_asked) return broken("the source began a revocation and never waited on its DrainBarrier");
  return kept();
}

// One batch of the partition is settled, the next one fails in the revocation: the lane that comes reads it again.
Outcome revocation_in_flight(const SourceCase& test) {
  if (!test.world.rebalance) return not_applicable("no hook `rebalance` was given");
  SourceDriver driver(test.world, test.options);
  if (!driver.start()) return not_tried(driver.failure());
  TakenBatch settled;
  TakenBatch in_flight;
  for (std::size_t i = 0; i < driver.lanes().size() && in_flight.offsets.empty(); ++i) {
    if (driver.next(1, settled, i)) std::ignore = driver.next(1, in_flight, i);
  }
  if (in_flight.offsets.empty()) return not_tried("no lane gives two batches " + driver.failure());
  const PartitionId partition = settled.partition;
  const PartitionWatermark reached{partition, Watermark(settled.last().value() + 1)};
  driver.at_barrier = [&] {
    settled.ack.reset();
    in_flight.ack.fail();
    in_flight.ack.reset();
    driver.checkpointer().drain();
    return std::vector<PartitionWatermark>{reached};
  };
  test.world.rebalance();
  if (!driver.wait_for_new_lanes()) return not_tried(driver.failure());
  const auto& lanes = driver.lanes();
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (lanes[i].partition != partition) continue;
    TakenBatch first;
    if (!driver.next(1, first, i)) {
      return broken(fmt::format("after the revocation partition {} gives nothing, though offset {} was not settled",
                                partition.value(), in_flight.offsets.front().value()));
    }
    if (first.offsets.front() == in_flight.offsets.front()) return kept();
    return broken(fmt::format("after the revocation partition {} begins at offset {}; settled was all before {}",
                              partition.value(), first.offsets.front().value(), reached.watermark.value()));
  }
  return not_applicable(fmt::format("partition {} did not come back", partition.value()));
}

constexpr SourceCheck kChecks[] = {
    {"one_ack_per_batch",
     "each batch carries an AckRef of its own, for its own partition, up to its last record and no further",
     one_ack_per_batch},
    {"acks_are_let_go", "once every batch is let go nothing issued stays unresolved", acks_are_let_go},
    {"stale_ack_moves_nothing",
     "batches of a new assignment carry AckRefs of its epoch; those of the one before move nothing",
     stale_ack_moves_nothing},
    {"commit_after_barrier", "in a revocation a position is kept only after DrainBarrier::wait has returned",
     commit_after_barrier},
    {"revocation_in_flight", "what was in flight and unsettled when lanes were revoked is given again",
     revocation_in_flight},
};

}  // namespace

std::span<const SourceCheck> source_ack_checks() { return kChecks; }

}  // namespace millrace::conformance
