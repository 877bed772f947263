// SPDX-License-Identifier: Apache-2.0
// INV-4 and INV-7: what happens when the sink is slower than the source. Lanes park, nothing waits on a full queue,
// nothing is lost, doubled or re-ordered, and no timer paces the recovery.
#include <gtest/gtest.h>

#include "engine_fixture.h"

namespace millrace::testing {
namespace {

// Partition 0 goes to one sink, the others to another.
ChainFactory zero_and_others(std::string zero, std::string others) {
  return [zero = std::move(zero), others = std::move(others)](const ChainContext& context) {
    LineChainOptions chain;
    chain.outputs = {context.partition == PartitionId(0) ? zero : others};
    return LineChain::factory(chain)(context);
  };
}

struct BackPressureTest : ::testing::Test {
  std::shared_ptr<Capture> capture = std::make_shared<Capture>();
  MemorySourceOptions source;
  ManualClock clock;
};

// Goal: with a queue of one tiny chunk the run neither deadlocks nor waits for time. Method: every batch meets a full
// queue, the clock never moves, so any pause or poll interval that the data needed would hang the run.
TEST_F(BackPressureTest, INV4_ATinyQueueNeedsNoTimer) {
  constexpr std::size_t kRecords = 5000;
  auto topic = filled_and_ended(4, kRecords);
  PipelineOptions options = quick();
  options.max_inflight_bytes = 1;
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks(7))).chain_factory(LineChain::factory()).clock(clock);
  const RunReport report = pipeline.run(MemorySource::make(topic, source));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(report.elapsed, Duration::zero());
  EXPECT_EQ(sorted(capture->lines()), everything(4, kRecords));
  EXPECT_TRUE(source.script->seen().paused.empty());
}

TEST_F(BackPressureTest, INV4_OperatorsRunOncePerRecordInOrder) {
  auto topic = filled_and_ended(1, 2000);
  auto looked = std::make_shared<std::vector<std::int64_t>>();  // one lane, so one thread
  LineChainOptions chain;
  chain.look = [looked](std::string_view, const RecordMeta& meta) {
    looked->push_back(meta.offset.value());
    return LineAction::write;
  };
  PipelineOptions options = quick();
  options.max_inflight_bytes = 1;
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks(3))).chain_factory(LineChain::factory(chain)).clock(clock);
  ASSERT_EQ(pipeline.run(MemorySource::make(topic, source)).state, ExitState::completed);
  ASSERT_EQ(looked->size(), 2000U);
  for (std::size_t i = 0; i < looked->size(); ++i) ASSERT_EQ(looked->at(i), static_cast<std::int64_t>(i));
  const std::vector<std::string> lines = capture->lines();
  for (std::size_t i = 0; i < lines.size(); ++i) ASSERT_EQ(lines[i], payload_of(0, i));
}

TEST_F(BackPressureTest, INV7_ARecordLargerThanTheBudgetStillPasses) {
  auto topic = std::make_shared<MemoryTopic>(3);
  for (std::uint32_t p = 0; p < 3; ++p) {
    for (std::size_t i = 0; i < 20; ++i) topic->append(partition(p), std::string(i % 5 == 2 ? 50'000 : 10, 'x'));
  }
  topic->end();
  PipelineOptions options = quick();
  options.max_inflight_bytes = 2000;
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks(1))).chain_factory(LineChain::factory()).clock(clock);
  const RunReport report = pipeline.run(MemorySource::make(topic, source));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(report.records_out, 60U);
}

// K09: while writes are held, the lane parks, the source is paused, memory stays at the bound, and control work goes
// on: events are polled. When writes go on, so does everything, by itself.
TEST_F(BackPressureTest, INV4_INV7_K09_ABlockedLaneIsPausedAndResumed) {
  auto topic = filled(1, 500);
  source.bounded = false;
  source.batch_records = 20;
  PipelineOptions options = quick();
  options.max_inflight_bytes = 4 * (512 + 200);
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory()).clock(clock);
  capture->hold();
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  ASSERT_TRUE(capture->wait_for_held(1));
  clock.wait_for_sleepers(2);
  EXPECT_TRUE(source.script->seen().paused.empty());
  const auto tick = [&] {
    const std::size_t polls = source.script->seen().event_polls;
    clock.advance(kControlPeriod);
    ASSERT_TRUE(source.script->wait_until([&](const auto& seen) { return seen.event_polls > polls; }));
    clock.wait_for_sleepers(2);
  };
  tick();
  tick();
  EXPECT_EQ(source.script->seen().paused, std::vector{lane(0)});
  EXPECT_TRUE(source.script->seen().resumed.empty());
  PipelineSnapshot shot = pipeline.snapshot();
  EXPECT_LE(shot.inflight_bytes, options.max_inflight_bytes);
  EXPECT_LT(shot.records_in, 100U);
  EXPECT_EQ(shot.lanes_blocked, 1U);
  EXPECT_EQ(shot.waiting_for, "sink");
  capture->release();
  ASSERT_TRUE(source.script->wait_until([](const auto& seen) { return !seen.resumed.empty(); }));
  ASSERT_TRUE(capture->wait_for_batches(50));
  pipeline.stop_handle().request();
  clock.advance(kControlPeriod);
  const RunReport& report = run.join();
  EXPECT_EQ(report.state, ExitState::stopped) << why(report);
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(500));
  EXPECT_EQ(source.script->seen().paused.size(), source.script->seen().resumed.size());
}

// INV-3: what one sink has written is settled and committed while another sink hangs and holds all the room there is.
TEST_F(BackPressureTest, INV3_AcksDoNotWaitBehindData) {
  auto topic = std::make_shared<MemoryTopic>(2);
  source.bounded = false;
  auto slow = std::make_shared<Capture>();
  PipelineOptions options = quick();
  options.max_inflight_bytes = 8 * (512 + 100);
  Pipeline pipeline(options);
  pipeline.sink("fast", CaptureSink::make(capture, small_chunks(10)));
  pipeline.sink("slow", CaptureSink::make(slow, small_chunks(10)));
  pipeline.chain_factory(zero_and_others("fast", "slow"));
  capture->hold();
  slow->hold();
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  // One write of partition 0 is under way; then partition 1 fills the rest.
  for (std::size_t i = 0; i < 10; ++i) topic->append(partition(0), payload_of(0, i));
  ASSERT_TRUE(capture->wait_for_held(1));
  for (std::size_t i = 0; i < 1000; ++i) topic->append(partition(1), payload_of(1, i));
  ASSERT_TRUE(eventually([&] { return pipeline.snapshot().lanes_blocked == 1; }));
  capture->release();
  ASSERT_TRUE(eventually([&] { return topic->committed().contains(partition(0)); }));
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(10));
  EXPECT_FALSE(topic->committed().contains(partition(1)));
  EXPECT_EQ(pipeline.snapshot().lanes_blocked, 1U);
  slow->release();
  pipeline.stop_handle().request();
  EXPECT_EQ(run.join().state, ExitState::stopped);
}

// A sink that hangs and holds all the room there is does not keep another from writing, one batch after another.
TEST_F(BackPressureTest, INV7_EachSinkHasRoomForABatch) {
  auto topic = std::make_shared<MemoryTopic>(2);
  source.bounded = false;
  auto slow = std::make_shared<Capture>();
  PipelineOptions options = quick();
  options.max_inflight_bytes = 8 * (512 + 100);
  Pipeline pipeline(options);
  pipeline.sink("fast", CaptureSink::make(capture, small_chunks(10)));
  pipeline.sink("slow", CaptureSink::make(slow, small_chunks(10)));
  pipeline.chain_factory(zero_and_others("fast", "slow"));
  slow->hold();
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  for (std::size_t i = 0; i < 1000; ++i) topic->append(partition(1), payload_of(1, i));
  ASSERT_TRUE(eventually([&] { return pipeline.snapshot().lanes_blocked == 1; }));
  for (std::size_t i = 0; i < 200; ++i) topic->append(partition(0), payload_of(0, i));
  EXPECT_TRUE(eventually([&] {
    const auto committed = topic->committed();
    return committed.contains(partition(0)) && committed.at(partition(0)) == Watermark(200);
  }));
  EXPECT_LE(pipeline.snapshot().inflight_bytes, options.max_inflight_bytes + 2 * (512 + 100));
  slow->release();
  pipeline.stop_handle().request();
  EXPECT_EQ(run.join().state, ExitState::stopped);
}

// max_pending_batches is a hard ceiling per partition; siblings go on, and it opens again as soon as acks are settled.
TEST_F(BackPressureTest, INV7_PendingBatchesHaveACeiling) {
  auto topic = filled(2, 400);
  source.bounded = false;
  source.batch_records = 1;
  auto held = std::make_shared<Capture>();
  PipelineOptions options = quick();
  options.max_pending_batches = 16;
  Pipeline pipeline(options);
  pipeline.sink("free", CaptureSink::make(capture, small_chunks(1)));
  pipeline.sink("held", CaptureSink::make(held, small_chunks(1)));
  pipeline.chain_factory(zero_and_others("free", "held"));
  held->hold();
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  ASSERT_TRUE(capture->wait_for_batches(400));  // the sibling is not held up
  EXPECT_EQ(held->tries().size(), 1U);
  EXPECT_LE(pipeline.snapshot().records_in, 400U + 16U);
  held->release();
  ASSERT_TRUE(held->wait_for_batches(400));
  pipeline.stop_handle().request();
  EXPECT_EQ(run.join().state, ExitState::stopped);
  EXPECT_EQ(topic->committed().at(partition(1)), Watermark(400));
}

// A chunk that is far from full holds more batches than may be pending: it is sealed rather than waiting for itself.
TEST_F(BackPressureTest, AnOpenChunkDoesNotHoldItsOwnLaneForEver) {
  auto topic = filled_and_ended(1, 100);
  source.batch_records = 1;
  PipelineOptions options = quick();
  options.max_pending_batches = 8;
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(capture, small_chunks(1'000'000))).chain_factory(LineChain::factory()).clock(clock);
  const RunReport report = pipeline.run(MemorySource::make(topic, source));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(report.elapsed, Duration::zero());
  const auto batches = capture->batches();
  EXPECT_EQ(batches.size(), 13U);
  EXPECT_EQ(batches[0].reason, SealReason::pressure);
  EXPECT_EQ(batches[0].records, 8U);
}

}  // namespace
}  // namespace millrace::testing
