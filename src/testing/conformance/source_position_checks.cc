// SPDX-License-Identifier: Apache-2.0
// Rules of positions: what is kept, when, and where another run begins.
#include <fmt/format.h>

#include "testing/conformance/source_case.h"

namespace millrace::conformance {
namespace {

/// Reads until some partition has given two batches of one record, and keeps which.
struct TwoBatches {
  PartitionId partition;
  Offset first;
  Offset second;
};

std::optional<TwoBatches> read_two(SourceDriver& driver) {
  for (std::size_t i = 0; i < driver.lanes().size(); ++i) {
    TakenBatch first;
    TakenBatch second;
    if (driver.next(1, first, i) && driver.next(1, second, i)) {
      driver.note(first);
      driver.note(second);
      return TwoBatches{first.partition, first.last(), second.last()};
    }
  }
  return std::nullopt;
}

Outcome commit_stored_as_it_is(const SourceCase& test) {
  if (!test.world.committed) return not_applicable("no probe `committed` was given");
  SourceDriver driver(test.world, test.options);
  if (!driver.start()) return not_tried(driver.failure());
  const auto read = read_two(driver);
  if (!read) return not_tried("no lane gives two batches " + driver.failure());
  const Watermark watermark(read->second.value() + 1);
  if (auto done = driver.commit(read->partition, watermark); !done) return broken(done.error().message());
  const auto kept_there = test.world.committed();
  const auto found = kept_there.find(read->partition);
  if (found == kept_there.end()) {
    return broken(fmt::format("{} was committed and flushed for partition {}, and no position is kept",
                              watermark.value(), read->partition.value()));
  }
  if (found->second != watermark) {
    return broken(fmt::format("{} was committed for partition {}, and {} is kept", watermark.value(),
                              read->partition.value(), found->second.value()));
  }
  return kept();
}

Outcome nothing_committed_early(const SourceCase& test) {
  if (!test.world.committed) return not_applicable("no probe `committed` was given");
  const auto before = test.world.committed();
  SourceDriver driver(test.world, test.options);
  if (!driver.start()) return not_tried(driver.failure());
  if (!driver.read_all()) return not_tried(driver.failure());
  std::ignore = driver.serve_event();
  if (auto done = driver.source().flush_commits_by(Clock::real().now() + test.options.patience); !done) {
    return not_tried(done.error().message());
  }
  for (const auto& [partition, watermark] : test.world.committed()) {
    const auto found = before.find(partition);
    const Watermark was = found == before.end() ? Watermark(0) : found->second;
    if (watermark > was) {
      return broken(fmt::format("nothing was committed, and for partition {} the position {} is kept",
                                partition.value(), watermark.value()));
    }
  }
  return kept();
}

Outcome failed_commit_is_told(const SourceCase& test) {
  if (!test.world.fail_commit) return not_applicable("no hook `fail_commit` was given");
  SourceDriver driver(test.world, test.options);
  if (!driver.start()) return not_tried(driver.failure());
  const auto read = read_two(driver);
  if (!read) return not_tried("no lane gives two batches " + driver.failure());
  test.world.fail_commit();
  const Watermark watermark(read->second.value() + 1);
  if (driver.commit(read->partition, watermark)) {
    if (!test.world.committed) return not_applicable("no probe `committed` was given, and no error was told");
    const auto kept_there = test.world.committed();
    const auto found = kept_there.find(read->partition);
    if (found != kept_there.end() && found->second == watermark) return kept("the source has tried again by itself");
    return broken("a commit could not be kept, and neither commit nor flush_commits said so");
  }
  if (auto again = driver.commit(read->partition, watermark); !again) {
    return broken("a commit that failed once does not succeed when it is made again: " + again.error().message());
  }
  return kept();
}

Outcome replays_from_commit(const SourceCase& test) {
  SourceDriver driver(test.world, test.options);
  if (!driver.start()) return not_tried(driver.failure());
  const auto read = read_two(driver);
  if (!read) return not_tried("no lane gives two batches " + driver.failure());
  std::ignore = driver.read_all();
  // All is read, and of one partition the first batch is settled.
  const Watermark watermark(read->first.value() + 1);
  if (auto done = driver.commit(read->partition, watermark); !done) return not_tried(done.error().message());
  std::int64_t begins = watermark.value();
  if (test.world.committed) {
    // Whether what is kept is right is another rule's.
    const auto kept_there = test.world.committed();
    const auto found = kept_there.find(read->partition);
    if (found != kept_there.end()) begins = found->second.value();
  }
  driver.kill();
  SourceDriver again(test.world, test.options);
  if (!again.start()) return broken("a second run does not start: " + again.failure());
  const SteadyTime begun = Clock::real().now();
  std::optional<Offset> first;
  while (!first) {
    TakenBatch batch;
    if (!again.next(1, batch)) break;
    if (batch.partition == read->partition) first = batch.offsets.front();
    if (Clock::real().now() - begun >= test.options.patience) break;
  }
  if (!first) {
    return broken(fmt::format("committed up to {}, and partition {} gives nothing to the next run {}", begins,
                              read->partition.value(), again.failure()));
  }
  if (first->value() < begins) {
    return broken(fmt::format("committed up to {}, and partition {} gives offset {} again", begins,
                              read->partition.value(), first->value()));
  }
  if (begins <= read->second.value() && first->value() > read->second.value()) {
    return broken(
        fmt::format("committed up to {}, read was offset {}, and the next run begins at {}: what lies "
                    "between is lost",
                    begins, read->second.value(), first->value()));
  }
  return kept();
}

Outcome same_record_same_offset(const SourceCase& test) {
  SourceDriver driver(test.world, test.options);
  if (!driver.start()) return not_tried(driver.failure());
  if (const std::string gap = driver.source().replay_gap(); !gap.empty()) {
    return not_applicable("replay_gap() says: " + gap);
  }
  if (!driver.read_all(1)) return not_tried(driver.failure());
  driver.kill();
  SourceDriver again(test.world, test.options);
  if (!again.start() || !again.read_all(3)) return not_tried(again.failure());
  for (const auto& [partition, records] : driver.records()) {
    const auto found = again.records().find(partition);
    for (const auto& [offset, payload] : records) {
      if (found == again.records().end() || !found->second.contains(offset) || found->second.at(offset) == payload) {
        continue;
      }
      return broken(fmt::format("offset {} of partition {} stands for another record in another run", offset.value(),
                                partition.value()));
    }
  }
  return kept();
}

constexpr SourceCheck kChecks[] = {
    {"commit_stored_as_it_is", "a watermark is kept as it is, one past the last acknowledged offset",
     commit_stored_as_it_is},
    {"nothing_committed_early", "no position is kept that commit() was not given", nothing_committed_early},
    {"failed_commit_is_told", "a commit that could not be kept is an error, and can be made again",
     failed_commit_is_told},
    {"replays_from_commit",
     "another run begins where this one has committed: nothing is lost, nothing settled comes again",
     replays_from_commit},
    {"same_record_same_offset", "where replay_gap() is empty, an offset stands for the same record in every run",
     same_record_same_offset},
};

}  // namespace

std::span<const SourceCheck> source_position_checks() { return kChecks; }

}  // namespace millrace::conformance
