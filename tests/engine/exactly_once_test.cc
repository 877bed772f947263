// SPDX-License-Identifier: Apache-2.0
// What the engine does for sinks that write exactly once: asks what they have, puts off what may not end, and refuses
// what cannot hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine_fixture.h"

namespace millrace::testing {
namespace {

using ::testing::HasSubstr;

struct ExactlyOnce : ::testing::Test {
  std::shared_ptr<Capture> capture = std::make_shared<Capture>();
  MemorySourceOptions source;
  PipelineOptions options = quick();

  // Whoever waits for what a drain will never bring waits longer than the test may last.
  ExactlyOnce() { options.drain_timeout = std::chrono::hours(1); }

  static CaptureSinkOptions by_content() {
    CaptureSinkOptions sink = small_chunks(10);
    sink.policy.by_content = true;
    return sink;
  }
  static CaptureSinkOptions recalling() {
    CaptureSinkOptions sink = small_chunks(10);
    sink.traits.recalls = true;
    return sink;
  }
  Pipeline pipeline(CaptureSinkOptions sink) {
    Pipeline made(options);
    made.sink(CaptureSink::make(capture, std::move(sink))).chain_factory(LineChain::factory());
    return made;
  }
};

// 25 records in files of ten: the last five are in no file that may end, so a stop leaves them to the next run, whose
// files are those of a run that was never stopped.
TEST_F(ExactlyOnce, INV1_AStopPutsOffWhatMayNotEnd) {
  auto topic = filled(1, 25);
  {
    Pipeline first = pipeline(by_content());
    BackgroundRun run(first, MemorySource::make(topic, source));
    ASSERT_TRUE(eventually([&] { return first.snapshot().records_in == 25; }));
    first.stop_handle().request();
    const RunReport& report = run.join();
    EXPECT_EQ(report.state, ExitState::stopped) << why(report);
    EXPECT_EQ(report.records_unacknowledged, 0U) << "left on purpose, and read again";
    EXPECT_EQ(report.records_put_off, 5U);
  }
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(20));
  for (std::size_t i = 25; i < 40; ++i) topic->append(partition(0), payload_of(0, i));
  topic->end();
  Pipeline second = pipeline(by_content());
  const RunReport report = second.run(MemorySource::make(topic, source));
  EXPECT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(sorted(capture->lines()), everything(1, 40)) << "each once";
  for (const CapturedBatch& batch : capture->batches()) EXPECT_EQ(batch.first_offset.value() % 10, 0);
}

// A file of more batches than may be pending must grow, or the lane would wait for itself.
TEST_F(ExactlyOnce, AFileThatMayNotEndIsReadOnBeyondThePendingLimit) {
  options.max_pending_batches = 3;
  source.batch_records = 1;
  CaptureSinkOptions sink = by_content();
  sink.policy.max_records = 20;
  Pipeline run = pipeline(sink);
  const RunReport report = run.run(MemorySource::make(filled_and_ended(1, 50), source));
  EXPECT_EQ(report.state, ExitState::completed) << why(report);
  ASSERT_EQ(capture->batches().size(), 3U);
  EXPECT_EQ(capture->batches()[0].records, 20U);
  EXPECT_EQ(capture->batches()[0].reason, SealReason::records);
}

TEST_F(ExactlyOnce, ALaneLeavesOutWhatItsSinkHas) {
  capture->recall([](PartitionId of) -> Result<Recall> {
    Recall recall;
    recall.floor = Offset(of == partition(0) ? 7 : 0);
    return recall;
  });
  Pipeline run = pipeline(recalling());
  auto topic = filled_and_ended(2, 30);
  const RunReport report = run.run(MemorySource::make(topic, source));
  EXPECT_EQ(report.state, ExitState::completed) << why(report);
  std::vector<std::string> expected = everything(2, 30);
  for (std::size_t i = 0; i < 7; ++i) std::erase(expected, payload_of(0, i));
  EXPECT_EQ(sorted(capture->lines()), expected);
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(30));
  EXPECT_EQ(report.records_left_out, 7U);
}

TEST_F(ExactlyOnce, AnAnswerIsWaitedForAsAWriteIs) {
  auto left = std::make_shared<int>(3);
  capture->recall([left](PartitionId) -> Result<Recall> {
    if ((*left)-- > 0) return fail(Error::retryable(ErrorCode::unavailable, "503 SlowDown"));
    return Recall();
  });
  Pipeline run = pipeline(recalling());
  const RunReport report = run.run(MemorySource::make(filled_and_ended(1, 30), source));
  EXPECT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(sorted(capture->lines()), everything(1, 30));
}

TEST_F(ExactlyOnce, WithoutAnAnswerNothingIsWritten) {
  capture->recall([](PartitionId) -> Result<Recall> {
    return fail(Error::fatal(ErrorCode::drift, "other records under the same offsets"));
  });
  Pipeline run = pipeline(recalling());
  const RunReport report = run.run(MemorySource::make(filled_and_ended(1, 30), source));
  EXPECT_EQ(report.state, ExitState::failed);
  EXPECT_EQ(report.exit_code(), 1);
  EXPECT_THAT(why(report), HasSubstr("what is written of partition 0 (millrace/memory) already: other records"));
  EXPECT_TRUE(capture->batches().empty());
}

TEST_F(ExactlyOnce, AStopDoesNotWaitForAnAnswer) {
  Pipeline run = pipeline(recalling());
  const StopHandle stop = run.stop_handle();
  capture->recall([stop](PartitionId) mutable -> Result<Recall> {
    stop.request();
    return fail(Error::retryable(ErrorCode::unavailable, "503 SlowDown"));
  });
  auto topic = filled_and_ended(1, 30);
  const RunReport report = run.run(MemorySource::make(topic, source));
  EXPECT_EQ(report.state, ExitState::stopped) << why(report);
  EXPECT_TRUE(topic->committed().empty());
}

// The first of two files is given up at the drain deadline; the second would be written now. A sink that writes exactly
// once would take the first for durable then.
TEST_F(ExactlyOnce, INV1_NothingIsWrittenBehindAFileThatWasGivenUp) {
  options.drain_timeout = std::chrono::milliseconds(200);
  Pipeline run = pipeline(recalling());
  const StopHandle stop = run.stop_handle();
  capture->decide([stop](const SealedBatch& batch) mutable -> std::optional<Error> {
    if (batch.chunk.first_offset != Offset(0)) return std::nullopt;
    stop.request();
    return Error::retryable(ErrorCode::unavailable, "503 SlowDown");
  });
  auto topic = filled_and_ended(1, 30);
  const RunReport report = run.run(MemorySource::make(topic, source));
  EXPECT_EQ(report.state, ExitState::failed) << why(report);
  EXPECT_TRUE(capture->batches().empty());
  EXPECT_TRUE(topic->committed().empty());
}

TEST_F(ExactlyOnce, WhatCannotHoldIsRefused) {
  const auto refused = [&](Pipeline made) {
    const RunReport report = made.run(MemorySource::make(filled_and_ended(1, 1), source));
    EXPECT_EQ(report.state, ExitState::failed);
    EXPECT_TRUE(capture->batches().empty());
    return why(report);
  };
  Pipeline two = pipeline(by_content());
  two.sink("other", CaptureSink::make(capture, small_chunks()));
  EXPECT_THAT(refused(std::move(two)), HasSubstr("only sink"));
  CaptureSinkOptions unordered = recalling();
  unordered.traits.ordered = false;
  EXPECT_THAT(refused(pipeline(unordered)), HasSubstr("ordered"));
  Pipeline letters(options);
  letters.sink(CaptureSink::make(capture, small_chunks()))
      .dead_letter(CaptureSink::make(capture, recalling()))
      .chain_factory(LineChain::factory());
  EXPECT_THAT(refused(std::move(letters)), HasSubstr("at least once"));
  Pipeline routed(options);
  CaptureSinkOptions by_value = small_chunks();
  by_value.policy.routed = true;
  routed.sink(CaptureSink::make(capture, small_chunks()))
      .dead_letter(CaptureSink::make(capture, by_value))
      .chain_factory(LineChain::factory());
  EXPECT_THAT(refused(std::move(routed)), HasSubstr("keeps records apart"));
  source.keeps_account = true;
  EXPECT_THAT(refused(pipeline(recalling())), HasSubstr("receipt"));
  source.keeps_account = false;
  source.replay_gap = "it forgets";
  EXPECT_THAT(refused(pipeline(by_content())), HasSubstr("it forgets"));
  EXPECT_THAT(refused(pipeline(recalling())), HasSubstr("it forgets"));
}

}  // namespace
}  // namespace millrace::testing
