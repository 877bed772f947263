// SPDX-License-Identifier: Apache-2.0
// A watermark that does not move: what ends the run and what does not (checkpoint.stalled_fail_after).
#include <gtest/gtest.h>

#include "engine_fixture.h"

namespace millrace::testing {
namespace {

using std::chrono::seconds;

struct StallTest : ::testing::Test {
  std::shared_ptr<Capture> capture = std::make_shared<Capture>();
  MemorySourceOptions source;
  ManualClock clock;
  PipelineOptions options = quick();

  StallTest() {
    source.bounded = false;
    options.stalled_fail_after = seconds(120);
  }
  // Time passes for the control loop too: it has gone round at every second of it.
  bool pass(const Pipeline& pipeline, Duration time) {
    for (Duration passed{0}; passed < time; passed += seconds(1)) {
      clock.advance(seconds(1));
      const auto gone_round = [&] {
        const PipelineSnapshot shot = pipeline.snapshot();
        return shot.phase != PipelineSnapshot::Phase::running || shot.since_control_heartbeat == Duration::zero();
      };
      if (!eventually(gone_round)) return false;
    }
    return true;
  }
};

TEST_F(StallTest, AWriteThatDoesNotReturnEndsTheRun) {
  auto topic = filled(1, 30);
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory()).clock(clock);
  capture->hold();
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  ASSERT_TRUE(capture->wait_for_held(1));
  ASSERT_TRUE(pass(pipeline, seconds(119)));
  EXPECT_EQ(pipeline.snapshot().phase, PipelineSnapshot::Phase::running);
  ASSERT_TRUE(pass(pipeline, seconds(5)));
  EXPECT_NE(pipeline.snapshot().phase, PipelineSnapshot::Phase::running);
  capture->release();
  const RunReport& report = run.join();
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code(), ErrorCode::stalled);
  EXPECT_NE(report.error->describe().find("component=checkpoint"), std::string::npos) << why(report);
  EXPECT_NE(report.error->message().find("partition 0 (lane 0)"), std::string::npos) << why(report);
}

// A write that lasts longer than the limit is under way, and either gets somewhere or ends by itself.
TEST_F(StallTest, ALongWriteOfASinkThatTimesItsWritesOutDoesNot) {
  auto topic = filled(2, 30);
  CaptureSinkOptions sink = small_chunks(10);
  sink.traits.writes_time_out = true;
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, sink)).chain_factory(LineChain::factory()).clock(clock);
  capture->hold();
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  ASSERT_TRUE(capture->wait_for_held(1));
  ASSERT_TRUE(pass(pipeline, seconds(400)));
  EXPECT_EQ(pipeline.snapshot().phase, PipelineSnapshot::Phase::running);
  capture->release();
  ASSERT_TRUE(capture->wait_for_batches(6));
  pipeline.stop_handle().request();
  clock.advance(kControlPeriod);
  const RunReport& report = run.join();
  EXPECT_EQ(report.state, ExitState::stopped) << why(report);
}

// A batch that a chain does not let go of is found although another sink writes for as long.
TEST_F(StallTest, ALongWriteExplainsOnlyWhatWaitsForIt) {
  auto topic = filled(2, 10);
  CaptureSinkOptions sink = small_chunks(10);
  sink.traits.writes_time_out = true;
  auto hung = std::make_shared<Capture>();
  Pipeline pipeline(options);
  pipeline.sink("long", CaptureSink::make(capture, sink)).sink("hung", CaptureSink::make(hung, small_chunks(10)));
  pipeline.clock(clock).chain_factory([](const ChainContext& context) {
    LineChainOptions chain;
    chain.outputs = {context.partition == PartitionId(0) ? "long" : "hung"};
    return LineChain::factory(chain)(context);
  });
  capture->hold();
  hung->hold();
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  ASSERT_TRUE(capture->wait_for_held(1));
  ASSERT_TRUE(hung->wait_for_held(1));
  ASSERT_TRUE(pass(pipeline, seconds(125)));
  EXPECT_NE(pipeline.snapshot().phase, PipelineSnapshot::Phase::running);
  capture->release();
  hung->release();
  const RunReport& report = run.join();
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code(), ErrorCode::stalled);
  EXPECT_NE(report.error->message().find("partition 1 (lane 1)"), std::string::npos) << why(report);
}

// What /healthz looks at: the last commit grows old while a write holds the watermark up, and is renewed by the commit
// that follows it.
TEST_F(StallTest, TheLastCommitGrowsOldWhileAWriteHoldsTheWatermarkUp) {
  auto topic = filled(1, 10);
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory()).clock(clock);
  capture->hold();
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  ASSERT_TRUE(capture->wait_for_held(1));
  ASSERT_TRUE(pass(pipeline, seconds(100)));
  EXPECT_GE(pipeline.snapshot().since_commit, seconds(99));
  capture->release();
  ASSERT_TRUE(eventually([&] {
    clock.advance(kControlPeriod);
    return topic->committed().contains(partition(0));
  }));
  ASSERT_TRUE(pass(pipeline, seconds(100)));
  EXPECT_LE(pipeline.snapshot().since_commit, seconds(2));  // nothing is pending
  pipeline.stop_handle().request();
  clock.advance(kControlPeriod);
  EXPECT_EQ(run.join().state, ExitState::stopped);
}

TEST_F(StallTest, AWriteThatIsRetriedDoesNot) {
  auto topic = filled(1, 30);
  capture->decide([](const SealedBatch&) { return Error::retryable(ErrorCode::unreachable, "connection refused"); });
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory()).clock(clock);
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  ASSERT_TRUE(capture->wait_for_tries(1));
  ASSERT_TRUE(eventually([&] { return pipeline.snapshot().last_write_error == "connection refused"; }));
  ASSERT_TRUE(pass(pipeline, seconds(400)));
  EXPECT_EQ(pipeline.snapshot().phase, PipelineSnapshot::Phase::running);
  capture->decide({});
  ASSERT_TRUE(eventually([&] {
    clock.advance(seconds(1));
    return capture->batches().size() == 3;
  }));
  pipeline.stop_handle().request();
  clock.advance(kControlPeriod);
  EXPECT_EQ(run.join().state, ExitState::stopped);
}

// K05: an open chunk waits for its age, which may be longer than any stall; then it is written and committed.
TEST_F(StallTest, K05_AnOpenChunkDoesNotAndIsSealedByItsAge) {
  auto topic = filled(1, 3);
  CaptureSinkOptions sink;
  sink.policy.max_age = seconds(300);
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, sink)).chain_factory(LineChain::factory()).clock(clock);
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  ASSERT_TRUE(eventually([&] { return pipeline.snapshot().records_in == 3; }));
  clock.wait_for_sleepers(2);
  ASSERT_TRUE(pass(pipeline, seconds(299)));
  EXPECT_EQ(pipeline.snapshot().phase, PipelineSnapshot::Phase::running);
  EXPECT_TRUE(capture->batches().empty());
  EXPECT_LE(pipeline.snapshot().since_commit, seconds(2));  // it waits for its age, not for a commit
  ASSERT_TRUE(pass(pipeline, seconds(2)));
  ASSERT_TRUE(capture->wait_for_batches(1));
  EXPECT_EQ(capture->batches().at(0).reason, SealReason::age);
  ASSERT_TRUE(eventually([&] {
    clock.advance(kControlPeriod);
    return topic->committed().contains(partition(0));
  }));
  pipeline.stop_handle().request();
  clock.advance(kControlPeriod);
  EXPECT_EQ(run.join().state, ExitState::stopped);
}

// A slow sink whose queue moves is slow, not stalled, although the last partition's batches wait longer than the limit
// behind those of the others.
TEST_F(StallTest, AQueueThatMovesDoesNot) {
  auto topic = filled(4, 10);
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory()).clock(clock);
  capture->hold();
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  ASSERT_TRUE(eventually([&] { return pipeline.snapshot().records_in == 40; }));
  for (std::size_t write = 1; write <= 4; ++write) {
    ASSERT_TRUE(capture->wait_for_held(1));
    ASSERT_TRUE(pass(pipeline, seconds(100)));
    ASSERT_EQ(pipeline.snapshot().phase, PipelineSnapshot::Phase::running);
    capture->release_one();
    ASSERT_TRUE(capture->wait_for_batches(write));
  }
  pipeline.stop_handle().request();
  clock.advance(kControlPeriod);
  EXPECT_EQ(run.join().state, ExitState::stopped);
}

}  // namespace
}  // namespace millrace::testing
