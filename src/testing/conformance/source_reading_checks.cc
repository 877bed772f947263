// SPDX-License-Identifier: Apache-2.0
// Rules of the data plane: waiting, batches, offsets, payloads.
#include <fmt/format.h>

#include <algorithm>

#include "testing/conformance/source_case.h"

namespace millrace::conformance {
namespace {

// One early Idle may be the echo of something that came; this many are a habit.
constexpr int kIdlePolls = 4;

Outcome idle_lane_blocks(const SourceCase& test) {
  SourceDriver driver(test.world, test.options);
  if (!driver.start() || !driver.read_all()) return not_tried(driver.failure());
  std::size_t tried = 0;
  for (DrivenLane& lane : driver.lanes()) {
    int early = 0;
    int idle = 0;
    for (int polls = 0; polls < 10 * kIdlePolls && idle < kIdlePolls && !lane.exhausted; ++polls) {
      const SteadyTime begun = Clock::real().now();
      const Result<PollResult> polled = lane.lane->poll(1, test.options.idle_timeout);
      const Duration took = Clock::real().now() - begun;
      if (!polled) return not_tried(polled.error().message());
      lane.exhausted = std::holds_alternative<Exhausted>(*polled);
      if (!std::holds_alternative<Idle>(*polled)) continue;
      ++idle;
      if (took < test.options.idle_timeout / 2) ++early;
    }
    if (idle == kIdlePolls) ++tried;
    if (early == kIdlePolls) {
      return broken(
          fmt::format("lane {} answers Idle at once, {} times of {}, without a waker and with a timeout of "
                      "{} ms: its thread would spin",
                      lane.id.value(), early, kIdlePolls,
                      std::chrono::duration_cast<std::chrono::milliseconds>(test.options.idle_timeout).count()));
    }
  }
  return tried == 0 ? not_applicable("no lane is ever idle: they come to their end") : kept();
}

Outcome waker_wakes(const SourceCase& test) {
  if (!test.world.more) return not_applicable("no hook `more` was given");
  SourceDriver driver(test.world, test.options);
  driver.waker = std::make_shared<EventCount>();
  if (!driver.start() || !driver.read_all()) return not_tried(driver.failure());
  const auto takes = [](const DrivenLane& lane) { return lane.has_waker; };
  if (!std::ranges::all_of(driver.lanes(), takes)) return not_applicable("its lanes take no waker");
  const auto poll_all = [&driver] {  // until all are idle; how many records came
    std::size_t came = 0;
    for (DrivenLane& lane : driver.lanes()) {
      for (;;) {
        const Result<PollResult> polled = lane.lane->poll(8, Duration::zero());
        const auto* batch = polled ? std::get_if<PayloadBatch>(&*polled) : nullptr;
        if (batch == nullptr) break;
        came += batch->payloads.size();
      }
    }
    return came;
  };
  EventCount::Ticket ticket = driver.waker->ticket();
  std::ignore = poll_all();
  test.world.more();
  const SteadyTime deadline = Clock::real().now() + test.options.patience;
  while (driver.waker->wait_until(ticket, Clock::real(), deadline)) {
    ticket = driver.waker->ticket();
    if (poll_all() != 0) return kept();
  }
  return poll_all() != 0 ? broken("a record arrived while all lanes were idle, and no lane woke its thread")
                         : not_tried("the record that was to arrive did not");
}

Outcome batch_within_bounds(const SourceCase& test) {
  SourceDriver driver(test.world, test.options);
  if (!driver.start()) return not_tried(driver.failure());
  constexpr std::size_t kMost = 1;
  while (driver.record_count() < test.world.records) {
    TakenBatch batch;
    if (!driver.next(kMost, batch)) return not_tried(driver.failure());
    driver.note(batch);
    if (!batch.malformed.empty()) return broken(batch.malformed);
    if (batch.payloads.size() > kMost) {
      return broken(fmt::format("a poll of lane {} for at most {} record gave {}",
                                driver.lanes()[batch.lane].id.value(), kMost, batch.payloads.size()));
    }
  }
  return kept();
}

Outcome offsets_rise(const SourceCase& test) {
  SourceDriver driver(test.world, test.options);
  if (!driver.start()) return not_tried(driver.failure());
  std::map<PartitionId, Offset> last;
  while (driver.record_count() < test.world.records) {
    TakenBatch batch;
    if (!driver.next(2, batch)) return not_tried(driver.failure());
    driver.note(batch);
    for (const Offset offset : batch.offsets) {
      const auto before = last.find(batch.partition);
      if (offset.value() < 0 || (before != last.end() && offset <= before->second)) {
        return broken(fmt::format("lane {} gives offset {} after {}", driver.lanes()[batch.lane].id.value(),
                                  offset.value(), before == last.end() ? -1 : before->second.value()));
      }
      last[batch.partition] = offset;
    }
  }
  return kept();
}

// Between a poll and the lane's next one the engine polls other lanes, asks for events, and commits.
Outcome payloads_live_until_next_poll(const SourceCase& test) {
  SourceDriver driver(test.world, test.options);
  if (!driver.start()) return not_tried(driver.failure());
  const SteadyTime begun = Clock::real().now();
  std::size_t seen = 0;
  while (seen < test.world.records && !driver.all_exhausted()) {
    struct Lent {
      PayloadBatch batch;
      std::vector<std::string> copies;
      LaneId lane;
    };
    std::vector<Lent> lent;
    for (DrivenLane& lane : driver.lanes()) {
      if (lane.exhausted) continue;
      Result<PollResult> polled = lane.lane->poll(2, std::chrono::milliseconds(1));
      if (!polled) return not_tried(polled.error().message());
      lane.exhausted = std::holds_alternative<Exhausted>(*polled);
      auto* batch = std::get_if<PayloadBatch>(&*polled);
      if (batch == nullptr) continue;
      seen += batch->payloads.size();
      lent.push_back({std::move(*batch), {}, lane.id});
      for (const std::string_view payload : lent.back().batch.payloads) lent.back().copies.emplace_back(payload);
    }
    const std::size_t lanes = driver.lanes().size();
    std::ignore = driver.serve_event();
    std::ignore = driver.source().progress();
    if (driver.lanes().size() < lanes) return not_tried("the source took a lane away");
    for (const Lent& one : lent) {
      for (std::size_t i = 0; i < one.copies.size(); ++i) {
        if (one.batch.payloads[i] == one.copies[i]) continue;
        return broken(fmt::format("the payload at offset {} of lane {} changed before the lane's next poll",
                                  one.batch.offset(i).value(), one.lane.value()));
      }
    }
    if (Clock::real().now() - begun >= test.options.patience) return not_tried("records did not come in time");
  }
  return seen == 0 ? not_tried("no record came") : kept();
}

constexpr SourceCheck kChecks[] = {
    {"idle_lane_blocks", "a poll that was given no waker waits for its timeout before it answers Idle",
     idle_lane_blocks},
    {"waker_wakes", "a lane that takes a waker calls it whenever a poll may have something new", waker_wakes},
    {"batch_within_bounds",
     "a poll gives at most as many payloads as asked for, of the lane's own partition, in columns of one length",
     batch_within_bounds},
    {"offsets_rise", "offsets rise strictly over a lane's life", offsets_rise},
    {"payloads_live_until_next_poll", "what a poll lends is there, unchanged, until the next poll on the same lane",
     payloads_live_until_next_poll},
};

}  // namespace

std::span<const SourceCheck> source_reading_checks() { return kChecks; }

}  // namespace millrace::conformance
