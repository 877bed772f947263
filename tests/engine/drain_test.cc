// SPDX-License-Identifier: Apache-2.0
// Stops and failures: what is open is written at once, nothing waits beyond the drain deadline, and what did not make
// it is named and read again (K10, M06).
#include <gtest/gtest.h>

#include "engine_fixture.h"
#include "millrace/testing/seeded_random.h"

namespace millrace::testing {
namespace {

struct DrainTest : ::testing::Test {
  std::shared_ptr<Capture> capture = std::make_shared<Capture>();
  MemorySourceOptions source;
  ManualClock clock;
  PipelineOptions options = quick();
  StopHandle stop;

  DrainTest() {
    source.bounded = false;
    options.drain_timeout = std::chrono::milliseconds(200);
  }
  // Asks for a stop when the chain has seen `records` of them.
  LineChainOptions stop_after(std::int64_t records) {
    auto left = std::make_shared<Atomic<std::int64_t>>(records);
    LineChainOptions chain;
    chain.look = [this, left](std::string_view, const RecordMeta&) {
      if (left->fetch_sub(1) == 1) stop.request();
      return LineAction::write;
    };
    return chain;
  }
  static CaptureSinkOptions open_for_an_hour() {
    CaptureSinkOptions sink = small_chunks(0);
    sink.policy.max_age = std::chrono::hours(1);
    return sink;
  }
};

// K10: 500 records in an open chunk that would stay open for an hour; a stop writes and commits them now.
TEST_F(DrainTest, K10_AStopFlushesWhatIsOpenAtOnce) {
  auto topic = filled(2, 250);
  source.bounded = true;  // its lanes never end, as nobody ends the topic
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, open_for_an_hour())).chain_factory(LineChain::factory()).clock(clock);
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  ASSERT_TRUE(eventually([&] { return pipeline.snapshot().records_in == 500; }));
  EXPECT_TRUE(capture->batches().empty());
  pipeline.stop_handle().request();
  clock.advance(kControlPeriod);
  const RunReport& report = run.join();
  EXPECT_EQ(report.state, ExitState::stopped) << why(report);
  EXPECT_EQ(report.exit_code(), 3);  // a bounded source, stopped before its end
  EXPECT_EQ(report.elapsed, kControlPeriod);
  EXPECT_EQ(sorted(capture->lines()), everything(2, 250));
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(250));
  EXPECT_EQ(capture->batches().at(0).reason, SealReason::drain);
}

TEST_F(DrainTest, AnUnboundedRunThatIsStoppedExitsZero) {
  auto topic = filled(1, 10);
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks())).chain_factory(LineChain::factory());
  pipeline.stop_handle().request();  // before the run: nothing is read
  const RunReport report = pipeline.run(MemorySource::make(topic, source));
  EXPECT_EQ(report.state, ExitState::stopped) << why(report);
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_EQ(report.records_in, 0U);
}

// K10, the variant: the write hangs. The run ends by the drain deadline, non-zero, uncommitted, and says how many
// records that were; the next run yields all of them.
TEST_F(DrainTest, INV2_K10_M06_AHangingWriteEndsAtTheDeadline) {
  auto topic = filled(1, 500);
  {
    Pipeline pipeline(options);
    pipeline.sink(CaptureSink::make(capture, open_for_an_hour())).chain_factory(LineChain::factory(stop_after(500)));
    capture->hold();
    stop = pipeline.stop_handle();
    const RunReport report = pipeline.run(MemorySource::make(topic, source));
    EXPECT_EQ(report.state, ExitState::failed);
    EXPECT_EQ(report.exit_code(), 1);
    ASSERT_TRUE(report.error);
    EXPECT_EQ(report.error->code(), ErrorCode::not_durable);
    EXPECT_NE(report.error->message().find("500 records"), std::string::npos) << why(report);
    EXPECT_EQ(report.records_unacknowledged, 500U);
    EXPECT_GE(report.elapsed, options.drain_timeout);
    EXPECT_TRUE(topic->commits().empty());
    EXPECT_EQ(capture->cancels(), 1U);
  }
  capture->release();
  topic->end();
  source.bounded = true;
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, small_chunks())).chain_factory(LineChain::factory());
  EXPECT_EQ(pipeline.run(MemorySource::make(topic, source)).state, ExitState::completed);
  EXPECT_EQ(sorted(capture->lines()), everything(1, 500));
}

// M06: a write that does not even react to cancel is left behind a second after the deadline.
TEST_F(DrainTest, M06_AWriteThatIgnoresCancelIsLeftBehind) {
  auto topic = filled(1, 20);
  Pipeline pipeline(options);
  auto registry = std::make_shared<MetricRegistry>();
  pipeline.sink(CaptureSink::make(capture, small_chunks(5))).chain_factory(LineChain::factory(stop_after(20)));
  pipeline.metrics(registry);
  capture->hold();
  capture->ignore_cancel();
  stop = pipeline.stop_handle();
  const RunReport report = pipeline.run(MemorySource::make(topic, source));
  EXPECT_EQ(report.state, ExitState::failed);
  EXPECT_EQ(report.records_unacknowledged, 20U);
  EXPECT_NE(registry->to_prometheus_text().find(
                R"(etl_sink_drain_overrun_total{pipeline="millrace",component="sink",component_type="capture"} 1)"),
            std::string::npos);
  EXPECT_TRUE(topic->commits().empty());
  // It comes back when the run is long over, and its success counts for nothing.
  capture->release();
  ASSERT_TRUE(capture->wait_for_closed_writers(1));
  EXPECT_EQ(capture->batches().size(), 1U);
  EXPECT_TRUE(topic->commits().empty());
}

// M06, the variant: the sink is dead and retried for ever, queues are full, and the source always has more.
TEST_F(DrainTest, M06_ADeadSinkWithFullQueuesEndsAtTheDeadline) {
  auto topic = filled(4, 5000);
  options.max_inflight_bytes = 4096;
  capture->decide([](const SealedBatch&) { return Error::retryable(ErrorCode::unreachable, "connection refused"); });
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory());
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  ASSERT_TRUE(capture->wait_for_tries(1));
  pipeline.stop_handle().request();
  const RunReport& report = run.join();
  EXPECT_EQ(report.state, ExitState::failed);
  EXPECT_EQ(report.error->code(), ErrorCode::not_durable);
  EXPECT_NE(report.error->message().find("connection refused"), std::string::npos) << why(report);
  EXPECT_GT(capture->tries().size(), 3U);
  EXPECT_TRUE(topic->commits().empty());
}

// A sink that comes back within the drain loses nothing, though its backoff was at its longest.
TEST_F(DrainTest, K10_ASinkThatComesBackInTimeIsDrained) {
  auto topic = filled(1, 30);
  CaptureSinkOptions sink = small_chunks(10);
  sink.retry.backoff = {std::chrono::hours(1), std::chrono::hours(1), 1.0};
  capture->fail_next(1, Error::retryable(ErrorCode::throttled, "503 SlowDown"));
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, sink)).chain_factory(LineChain::factory()).clock(clock);
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  clock.wait_for_sleepers(3);  // the worker waits out its hour
  EXPECT_EQ(pipeline.snapshot().last_write_error, "503 SlowDown");
  EXPECT_EQ(pipeline.snapshot().waiting_for, "sink");
  pipeline.stop_handle().request();
  clock.advance(kControlPeriod);
  const RunReport& report = run.join();
  EXPECT_EQ(report.state, ExitState::stopped) << why(report);
  EXPECT_EQ(report.elapsed, kControlPeriod);
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(30));
}

// A lane whose poll never returns is left behind like a write; the run says so and ends.
TEST_F(DrainTest, M06_APollThatNeverReturnsIsLeftBehind) {
  struct Gate {
    Mutex mutex;
    CondVar changed;
    bool inside MILLRACE_GUARDED_BY(mutex) = false;
    bool open MILLRACE_GUARDED_BY(mutex) = false;
    bool left MILLRACE_GUARDED_BY(mutex) = false;
  };
  class StuckLane final : public SourceLane {
   public:
    explicit StuckLane(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}
    ~StuckLane() override {
      const MutexLock lock(gate_->mutex);
      gate_->left = true;
      gate_->changed.notify_all();
    }
    LaneId id() const override { return LaneId(0); }
    PartitionId partition() const override { return PartitionId(0); }
    Result<PollResult> poll(std::size_t /*max*/, Duration /*timeout*/) override {
      const MutexLock lock(gate_->mutex);
      gate_->inside = true;
      gate_->changed.notify_all();
      while (!gate_->open) gate_->changed.wait(gate_->mutex);
      return Idle{};
    }
    std::shared_ptr<Gate> gate_;
  };
  auto gate = std::make_shared<Gate>();
  source.assign_all = false;
  source.script->then([gate](MemorySource&) -> Result<SourceEvent> {
    LanesAssigned assigned;
    assigned.lanes.push_back(std::make_unique<StuckLane>(gate));
    return assigned;
  });
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks())).chain_factory(LineChain::factory());
  BackgroundRun run(pipeline, MemorySource::make(filled(1, 0), source));
  {
    const MutexLock lock(gate->mutex);
    while (!gate->inside) gate->changed.wait(gate->mutex);
  }
  pipeline.stop_handle().request();
  const RunReport& report = run.join();
  EXPECT_EQ(report.state, ExitState::failed);
  EXPECT_EQ(report.error->code(), ErrorCode::deadline) << why(report);
  const MutexLock lock(gate->mutex);
  gate->open = true;
  gate->changed.notify_all();
  while (!gate->left) gate->changed.wait(gate->mutex);
}

// A failed partition does not hold up the end: what can never be committed is not waited for.
TEST_F(DrainTest, WhatCanNeverBeCommittedIsNotWaitedFor) {
  auto topic = filled(1, 100);
  capture->decide([](const SealedBatch& batch) -> std::optional<Error> {
    if (batch.chunk.first_offset == Offset(0)) return Error::fatal(ErrorCode::io, "bad disk");
    return std::nullopt;
  });
  options.max_inflight_bytes = 1;
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory()).clock(clock);
  const RunReport report = pipeline.run(MemorySource::make(topic, source));
  EXPECT_EQ(report.state, ExitState::failed);
  EXPECT_EQ(report.elapsed, Duration::zero());
}

// Property: a run stopped at a random point ends Stopped, and what it committed is what it delivered; runs on the same
// topic, each stopped at random, deliver the input in the end, each record exactly once, since every drain succeeds.
TEST_F(DrainTest, INV1_StoppedAnywhereNothingIsLostOrDoubled) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SeededRandom random(seed);
    auto topic = filled_and_ended(3, 400);
    auto all = std::make_shared<Capture>();
    audit_commits(*topic, all);
    ExitState state = ExitState::stopped;
    int runs = 0;
    while (state == ExitState::stopped) {
      ASSERT_LT(++runs, 1000) << "seed " << seed;
      MemorySourceOptions bounded;
      bounded.batch_records = 1 + random.below(50);
      PipelineOptions run_options = quick();
      run_options.threads = 1 + random.below(3);
      if (random.below(3) == 0) run_options.max_inflight_bytes = 1 + random.below(4096);
      Pipeline pipeline(run_options);
      stop = pipeline.stop_handle();
      auto left = std::make_shared<Atomic<std::int64_t>>(static_cast<std::int64_t>(random.below(600)));
      LineChainOptions chain;
      chain.look = [left, stop = stop](std::string_view, const RecordMeta&) {
        if (left->fetch_sub(1) == 0) stop.request();
        return LineAction::write;
      };
      pipeline.sink(CaptureSink::make(all, small_chunks(1 + random.below(30))));
      pipeline.chain_factory(LineChain::factory(chain));
      const RunReport report = pipeline.run(MemorySource::make(topic, bounded));
      state = report.state;
      ASSERT_NE(state, ExitState::failed) << why(report) << " seed " << seed;
      std::size_t settled = 0;
      for (const auto& [p, mark] : topic->committed()) settled += static_cast<std::size_t>(mark.value());
      ASSERT_EQ(settled, all->lines().size()) << "seed " << seed;
    }
    ASSERT_EQ(sorted(all->lines()), everything(3, 400)) << "seed " << seed;
  }
}

// The same with a sink that fails at random, for good or for a while, and commits that fail: never a record less, and
// no commit beyond what is delivered.
TEST_F(DrainTest, INV1_FailedAnywhereNothingIsLost) {
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    SeededRandom random(seed);
    auto topic = filled_and_ended(3, 300);
    auto all = std::make_shared<Capture>();
    audit_commits(*topic, all);
    all->decide([&random](const SealedBatch&) -> std::optional<Error> {
      const std::uint64_t dice = random.below(40);
      if (dice == 0) return Error::fatal(ErrorCode::io, "refused");
      if (dice < 8) return Error::retryable(ErrorCode::unavailable, "503");
      return std::nullopt;
    });
    ExitState state = ExitState::failed;
    for (int runs = 0; state != ExitState::completed; ++runs) {
      ASSERT_LT(runs, 1000) << "seed " << seed;
      if (random.below(3) == 0) topic->fail_commits({Error::retryable(ErrorCode::timeout, "slow")});
      MemorySourceOptions bounded;
      bounded.batch_records = 1 + random.below(40);
      PipelineOptions run_options = quick();
      run_options.max_inflight_bytes = 512 + random.below(8192);
      Pipeline pipeline(run_options);
      CaptureSinkOptions sink = small_chunks(1 + random.below(20));
      sink.traits.concurrency = 1 + random.below(3);
      pipeline.sink(CaptureSink::make(all, sink)).chain_factory(LineChain::factory());
      const RunReport report = pipeline.run(MemorySource::make(topic, bounded));
      state = report.state;
    }
    ASSERT_EQ(unique(all->lines()), everything(3, 300)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace millrace::testing
