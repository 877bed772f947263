// SPDX-License-Identifier: Apache-2.0
// Waiting: an idle pipeline takes no core, and what arrives is not kept waiting by a timer or by an idle neighbour.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "engine_fixture.h"
#include "scripted_lane.h"

namespace millrace::testing {
namespace {

struct IdleTest : ::testing::TestWithParam<bool> {
  std::shared_ptr<Capture> capture = std::make_shared<Capture>();
  MemorySourceOptions source;
  IdleTest() {
    source.bounded = false;
    source.wakers = GetParam();
  }
};

// How the threads of the run stand at this moment, as the kernel says.
struct Threads {
  std::size_t count = 0;
  bool asleep = true;
  std::uint64_t times_woken = 0;
};
Threads threads_of_the_run() {
  Threads all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(entry.path() / "status");
    std::string key;
    std::string value;
    bool ours = false;
    while (status >> key && std::getline(status >> std::ws, value)) {
      if (key == "Name:") ours = value == "run" || value.starts_with("mr-");
      if (!ours) continue;
      if (key == "Name:") ++all.count;
      if (key == "State:") all.asleep &= value.starts_with('S');
      if (key == "voluntary_ctxt_switches:") all.times_woken += std::stoull(value);
    }
  }
  return all;
}

// Goal: no spin anywhere: control loop, lanes, workers. Method: time stands still, so nothing is ever due, and every
// thread of a pipeline with more lanes than threads is asleep whenever it is looked at, and was not woken in between. A
// thread that spins is runnable, however loaded the machine is; one that sleeps briefly is woken. When time goes on,
// the control loop goes round once a period.
TEST_P(IdleTest, AnIdlePipelineSleeps) {
  ManualClock clock;
  auto topic = filled(6, 1);
  PipelineOptions options = quick();
  options.threads = 2;
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks(1))).chain_factory(LineChain::factory()).clock(clock);
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  // A thread in the poll of a lane without a waker takes up a lane that is added meanwhile when that poll is over.
  ASSERT_TRUE(eventually([&] {
    clock.advance(std::chrono::milliseconds(1));
    return capture->batches().size() == 6;
  }));
  constexpr int kLooks = 25;
  const auto sleeps = [] {
    const Threads before = threads_of_the_run();
    for (int look = 0; look < kLooks; ++look) {
      const Threads now = threads_of_the_run();
      if (now.count != 4 || !now.asleep || now.times_woken != before.times_woken) return false;
    }
    return true;
  };
  EXPECT_TRUE(eventually(sleeps));
  const std::size_t rounds = source.script->seen().event_polls;
  constexpr std::size_t kPeriods = 20;
  for (std::size_t period = 0; period < kPeriods; ++period) {
    clock.advance(kControlPeriod);
    EXPECT_TRUE(eventually(sleeps));
  }
  EXPECT_LE(source.script->seen().event_polls - rounds, 2 * kPeriods);
  pipeline.stop_handle().request();
  ASSERT_TRUE(eventually([&] {
    clock.advance(kControlPeriod);
    return pipeline.snapshot().phase == PipelineSnapshot::Phase::ended;
  }));
  EXPECT_EQ(run.join().state, ExitState::stopped);
}

// Goal: from arrival to delivery no timer runs. Method: time stands still. A lane with a waker wakes its thread; one
// without is in its poll, which ends when something arrives.
TEST_P(IdleTest, WhatArrivesIsTakenWithoutTimePassing) {
  ManualClock clock;
  const SteadyTime begun = clock.now();
  auto topic = filled(1, 1);
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, small_chunks(1))).chain_factory(LineChain::factory()).clock(clock);
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  for (std::size_t i = 1; i <= 200; ++i) {
    ASSERT_TRUE(capture->wait_for_batches(i));
    topic->append(partition(0), payload_of(0, i));
  }
  EXPECT_EQ(clock.now(), begun);
  pipeline.stop_handle().request();
  ASSERT_TRUE(eventually([&] {
    clock.advance(kControlPeriod);
    return pipeline.snapshot().phase == PipelineSnapshot::Phase::ended;
  }));
  const RunReport& report = run.join();
  EXPECT_EQ(report.state, ExitState::stopped) << why(report);
}

INSTANTIATE_TEST_SUITE_P(Wakers, IdleTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "WithWakers" : "WithoutWakers"; });

// Goal: idle neighbours without wakers do not hold up a lane that produces. Method: time stands still, so one poll of a
// neighbour that waited for its timeout while the other lane had something would hang the run.
TEST(FairWaiting, WhileALaneProducesItsNeighboursAreNotWaitedFor) {
  ManualClock clock;
  auto capture = std::make_shared<Capture>();
  auto topic = std::make_shared<MemoryTopic>(5);
  constexpr std::size_t kRecords = 500;
  for (std::size_t i = 0; i < kRecords; ++i) topic->append(partition(2), payload_of(2, i));
  MemorySourceOptions source;
  source.bounded = false;
  source.wakers = false;
  source.batch_records = 1;
  PipelineOptions options = quick();
  options.threads = 1;
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks(1))).chain_factory(LineChain::factory()).clock(clock);
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  // The lanes before the productive one may have been in their first poll when it was added, so time starts the show.
  ASSERT_TRUE(eventually([&] {
    clock.advance(std::chrono::milliseconds(1));
    return !capture->batches().empty();
  }));
  ASSERT_TRUE(capture->wait_for_batches(kRecords));
  pipeline.stop_handle().request();
  ASSERT_TRUE(eventually([&] {
    clock.advance(std::chrono::milliseconds(1));
    return pipeline.snapshot().phase == PipelineSnapshot::Phase::ended;
  }));
  EXPECT_EQ(run.join().records_out, kRecords);
}

// A lane without a waker that shares its thread with one that has one: the thread still sleeps in the poll, and both
// are served; no core is taken.
TEST(FairWaiting, MixedLanesAreAllServed) {
  auto capture = std::make_shared<Capture>();
  auto topic = filled(2, 1);
  MemorySourceOptions source;
  source.bounded = false;
  source.assign_all = false;
  source.script->then([topic](MemorySource& memory) -> Result<SourceEvent> {
    LanesAssigned assigned;
    assigned.lanes.push_back(memory.make_lane(lane(0), partition(0)));
    assigned.lanes.push_back(std::make_unique<ScriptedLane>(
        lane(1), partition(1), memory.context().acks,
        [topic, next = Offset(0)](ScriptedLane::Turn turn) mutable -> Result<PollResult> {
          static thread_local std::vector<std::string> lent;
          const SteadyTime deadline = Clock::real().now() + turn.timeout;
          lent = topic->read(partition(1), next, 1, Clock::real(), deadline).payloads;
          if (lent.empty()) return Idle{};
          turn.payloads.assign(lent.begin(), lent.end());
          PayloadBatch batch;
          batch.payloads = turn.payloads;
          batch.partition = partition(1);
          batch.base_offset = next;
          batch.ack = turn.acks.issue(partition(1), next);
          next = Offset(next.value() + 1);
          return batch;
        }));
    return assigned;
  });
  PipelineOptions options = quick();
  options.threads = 1;
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks(1))).chain_factory(LineChain::factory());
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  for (std::size_t i = 1; i < 20; ++i) {
    ASSERT_TRUE(capture->wait_for_batches(2 * i));
    topic->append(partition(0), payload_of(0, i));
    topic->append(partition(1), payload_of(1, i));
  }
  ASSERT_TRUE(capture->wait_for_batches(40));
  pipeline.stop_handle().request();
  EXPECT_EQ(run.join().state, ExitState::stopped);
}

}  // namespace
}  // namespace millrace::testing
