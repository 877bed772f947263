// SPDX-License-Identifier: Apache-2.0
// Rules of a sink's life: open, writers side by side, close, another run.
#include <fmt/format.h>

#include "testing/conformance/sink_case.h"

namespace millrace::conformance {
namespace {

Outcome open_makes_writers(const SinkCase& test) {
  Result<std::unique_ptr<Sink>> made = test.world.make();
  if (!made || !*made) return broken(made ? "the factory gave no sink" : made.error().message());
  if ((*made)->type().empty()) return broken("type() is empty: nothing would name the sink in messages and metrics");
  made->reset();
  SinkDriver driver(test.world, test.options);
  if (!driver.start(0)) return broken(driver.failure());
  if (!test.world.durable().empty()) return broken("opening the sink put records into the destination");
  return kept(fmt::format("{} writers", driver.writers().size()));
}

Outcome writers_side_by_side(const SinkCase& test) {
  SinkDriver driver(test.world, test.options);
  if (!driver.start(0)) return not_tried(driver.failure());
  const std::size_t writers = driver.writers().size();
  if (writers < 2) return not_applicable("the sink has one writer");
  std::vector<MadeBatches> made(writers);
  for (std::size_t i = 0; i < writers; ++i) {
    if (!driver.make(PartitionId(static_cast<std::uint32_t>(i)), 0, 3, made[i])) return not_tried(driver.failure());
    if (auto asked = driver.ask(made[i], i); !asked) return not_tried(asked.error().message());
  }
  std::vector<std::string> failed(writers);
  {
    std::vector<Thread> threads;
    for (std::size_t i = 0; i < writers; ++i) {
      threads.emplace_back(fmt::format("conform-{}", i), [&, i] {
        for (SealedBatch& batch : made[i].batches) {
          if (auto written = driver.writers()[i]->write(batch); !written) failed[i] = written.error().message();
        }
      });
    }
  }
  std::size_t there = 0;
  for (const MadeBatches& one : made) there += test.not_there(one.records).empty() ? 1U : 0U;
  for (std::size_t i = 0; i < writers; ++i) {
    if (!failed[i].empty()) return broken(fmt::format("writer {} of {} failed: {}", i + 1, writers, failed[i]));
    if (there == 0) return not_tried("nothing of what any writer wrote is there");
    if (const std::string lost = test.not_there(made[i].records); !lost.empty()) {
      return broken(
          fmt::format("{} writers wrote side by side, each said success, and the record {} of writer {} is "
                      "not there",
                      writers, lost, i + 1));
    }
  }
  return kept(fmt::format("{} writers", writers));
}

Outcome close_keeps_its_deadline(const SinkCase& test) {
  SinkDriver driver(test.world, test.options);
  MadeBatches made;
  if (!driver.write_three(made)) return not_tried(driver.failure());
  if (!test.not_there(made.records).empty()) return not_tried("what was written is not there");
  const SteadyTime begun = Clock::real().now();
  // A deadline that is there already: whatever is held is let go.
  const Result<void> closed = driver.writers().front()->close(begun);
  const Duration took = Clock::real().now() - begun;
  if (took >= test.options.patience) {
    return broken(
        fmt::format("a writer's close took {:.3f} s beyond its deadline", std::chrono::duration<double>(took).count()));
  }
  if (closed) std::ignore = driver.sink().close();
  if (const std::string lost = test.not_there(made.records); !lost.empty()) {
    return broken(fmt::format("the record {} was there before the close, and is not after it", lost));
  }
  return kept();
}

Outcome next_run_adds(const SinkCase& test) {
  SinkDriver driver(test.world, test.options);
  MadeBatches before;
  if (!driver.write_three(before)) return not_tried(driver.failure());
  if (!test.not_there(before.records).empty()) return not_tried("the first run's records are not there");
  driver.kill();
  SinkDriver next(test.world, test.options);
  MadeBatches after;
  if (!next.start()) return broken("another run's open failed: " + next.failure());
  if (!next.write_three(after, 3)) return broken("another run: " + next.failure());
  if (const std::string lost = test.not_there(before.records); !lost.empty()) {
    return broken(fmt::format("the record {} of the run before is gone once another run has written", lost));
  }
  if (const std::string lost = test.not_there(after.records); !lost.empty()) {
    return broken(fmt::format("the record {} of another run is not there, though its write said success", lost));
  }
  return kept();
}

constexpr SinkCheck kChecks[] = {
    {"open_makes_writers", "a sink has a type, opens, and makes as many writers as it declares", open_makes_writers},
    {"writers_side_by_side", "as many writers as declared write side by side", writers_side_by_side},
    {"close_keeps_its_deadline", "a close ends by its deadline and takes nothing back", close_keeps_its_deadline},
    {"next_run_adds", "another run leaves what is there and adds to it", next_run_adds},
};

}  // namespace

std::span<const SinkCheck> sink_life_checks() { return kChecks; }

}  // namespace millrace::conformance
