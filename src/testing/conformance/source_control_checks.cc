// SPDX-License-Identifier: Apache-2.0
// Rules of the control plane: open, events, assignments, pauses, the end.
#include <fmt/format.h>

#include <algorithm>

#include "testing/conformance/source_case.h"

namespace millrace::conformance {
namespace {

Outcome open_comes_first(const SourceCase& test) {
  Result<std::unique_ptr<Source>> made = test.world.make();
  if (!made || !*made) return broken(made ? "the factory gave no source" : made.error().message());
  // What may be asked before open.
  const bool bounded = (*made)->bounded();
  const bool keeps_account = (*made)->keeps_account();
  std::ignore = (*made)->replay_gap();
  std::ignore = (*made)->progress();
  std::ignore = (*made)->status_json();
  made->reset();
  SourceDriver driver(test.world, test.options);
  if (!driver.start()) return broken(driver.failure());
  if (driver.source().bounded() != bounded) return broken("bounded() says another thing after open than before");
  if (driver.source().keeps_account() != keeps_account) {
    return broken("keeps_account() says another thing after open than before");
  }
  return kept();
}

Outcome gives_records(const SourceCase& test) {
  SourceDriver driver(test.world, test.options);
  if (!driver.start()) return not_tried(driver.failure());
  if (!driver.read_all()) return broken(driver.failure());
  return kept(fmt::format("{} records in {} partitions", driver.record_count(), driver.records().size()));
}

Outcome whole_assignment(const SourceCase& test) {
  SourceDriver driver(test.world, test.options);
  if (!driver.start()) return not_tried(driver.failure());
  std::ignore = driver.read_all();
  if (test.world.rebalance) {
    test.world.rebalance();
    std::ignore = driver.wait_for_new_lanes();
  }
  return driver.delta.empty() ? kept(fmt::format("{} assignments", driver.assignments())) : broken(driver.delta);
}

Outcome lane_handed_out_once(const SourceCase& test) {
  SourceDriver driver(test.world, test.options);
  if (!driver.start()) return not_tried(driver.failure());
  if (test.world.rebalance) {
    test.world.rebalance();
    std::ignore = driver.wait_for_new_lanes();
  }
  return driver.twice.empty() ? kept(fmt::format("{} lanes", driver.lanes().size())) : broken(driver.twice);
}

Outcome poll_events_does_not_block(const SourceCase& test) {
  SourceDriver driver(test.world, test.options);
  if (!driver.start()) return not_tried(driver.failure());
  // A lane's batch stays unacknowledged meanwhile: nothing here may wait for it.
  TakenBatch held;
  if (!driver.next(2, held) && !driver.failure().empty()) return not_tried(driver.failure());
  for (int i = 0; i < 3 && !driver.finished(); ++i) {
    const SteadyTime begun = Clock::real().now();
    std::ignore = driver.serve_event();
    const Duration took = Clock::real().now() - begun;
    if (took >= test.options.prompt) {
      return broken(fmt::format("poll_events with no timeout took {:.3f} s while a batch was in flight",
                                std::chrono::duration<double>(took).count()));
    }
    if (!driver.failure().empty()) return not_tried(driver.failure());
  }
  return kept();
}

Outcome pause_loses_nothing(const SourceCase& test) {
  SourceDriver straight(test.world, test.options);
  if (!straight.start() || !straight.read_all()) return not_tried(straight.failure());
  straight.kill();
  SourceDriver driver(test.world, test.options);
  if (!driver.start()) return not_tried(driver.failure());
  TakenBatch batch;
  if (!driver.next(1, batch)) return not_tried(driver.failure());
  driver.note(batch);
  std::vector<LaneId> lanes;
  for (const DrivenLane& lane : driver.lanes()) lanes.push_back(lane.id);
  driver.source().pause(lanes);
  for (int i = 0; i < 3; ++i) std::ignore = driver.serve_event();
  if (driver.lanes().size() < lanes.size()) return broken("lanes that are paused stay assigned; an event took one");
  driver.source().resume(lanes);
  for (const auto& [partition, records] : straight.records()) {
    while (!driver.records().contains(partition) || !driver.records().at(partition).contains(records.rbegin()->first)) {
      if (!driver.next(2, batch)) {
        return broken(fmt::format("once lanes were paused and resumed, offset {} of partition {} did not come {}",
                                  records.rbegin()->first.value(), partition.value(), driver.failure()));
      }
      driver.note(batch);
    }
    const RecordsByOffset& came = driver.records().at(partition);
    for (const auto& [offset, payload] : records) {
      // Where a run begins is another rule's.
      if (offset < came.begin()->first || came.contains(offset)) continue;
      return broken(fmt::format("offset {} of partition {} is not given when its lane is paused and resumed",
                                offset.value(), partition.value()));
    }
  }
  return kept();
}

Outcome ends_and_says_so(const SourceCase& test) {
  SourceDriver driver(test.world, test.options);
  if (!driver.start()) return not_tried(driver.failure());
  if (!driver.source().bounded()) return not_applicable("the source does not end by itself");
  const SteadyTime begun = Clock::real().now();
  while (!driver.finished() || !driver.all_exhausted()) {
    TakenBatch batch;
    if (!driver.all_exhausted() && !driver.next(64, batch) && !driver.failure().empty()) break;
    std::ignore = driver.serve_event();
    if (Clock::real().now() - begun >= test.options.patience) break;
  }
  if (!driver.all_exhausted()) {
    return broken("a bounded source's lanes say Exhausted when they have given everything; one never did" +
                  (driver.failure().empty() ? "" : " (" + driver.failure() + ")"));
  }
  if (!driver.finished()) return broken("every lane is exhausted, and poll_events never says Finished");
  return kept();
}

Outcome failure_is_told(const SourceCase& test) {
  if (!test.world.fail_reading) return not_applicable("no fail_reading was given");
  // Before the start, as a source may read ahead of its polls.
  test.world.fail_reading();
  SourceDriver driver(test.world, test.options);
  if (!driver.start()) return kept(driver.failure());
  const SteadyTime begun = Clock::real().now();
  TakenBatch batch;
  while (driver.next(1, batch)) {
    if (Clock::real().now() - begun >= test.options.patience) break;
  }
  if (!driver.failure().empty()) return kept(driver.failure());
  return broken("reading failed outside, and no poll and no event says so; the lanes came to their end");
}

constexpr SourceCheck kChecks[] = {
    {"open_comes_first", "open succeeds on a fresh instance, and what may be asked before it says the same after it",
     open_comes_first},
    {"gives_records", "every record that lies there is given, without an error", gives_records},
    {"whole_assignment", "LanesAssigned describes the whole assignment; lanes still live are revoked before it",
     whole_assignment},
    {"lane_handed_out_once", "in an assignment each lane, and each partition, stands once", lane_handed_out_once},
    {"poll_events_does_not_block", "poll_events waits no longer than its timeout, whatever is in flight",
     poll_events_does_not_block},
    {"pause_loses_nothing", "lanes that are paused and resumed stay assigned and give what they would have given",
     pause_loses_nothing},
    {"ends_and_says_so", "a bounded source's lanes come to Exhausted, and poll_events to Finished", ends_and_says_so},
    {"failure_is_told", "a read that fails for good is an error, and not the end", failure_is_told},
};

}  // namespace

std::span<const SourceCheck> source_control_checks() { return kChecks; }

}  // namespace millrace::conformance
