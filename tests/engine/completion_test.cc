// SPDX-License-Identifier: Apache-2.0
// Runs that come to their end: what is written, what is committed, and when a run may call itself Completed (INV-2).
#include <gtest/gtest.h>

#include "engine_fixture.h"

namespace millrace::testing {
namespace {

struct Completion : ::testing::Test {
  std::shared_ptr<Capture> capture = std::make_shared<Capture>();
  MemorySourceOptions source;

  RunReport run(const std::shared_ptr<MemoryTopic>& topic, LineChainOptions chain = {},
                PipelineOptions options = quick(), CaptureSinkOptions sink = small_chunks()) {
    Pipeline pipeline(options);
    pipeline.sink(CaptureSink::make(capture, sink)).chain_factory(LineChain::factory(std::move(chain)));
    return pipeline.run(MemorySource::make(topic, source));
  }
};

TEST_F(Completion, INV1_INV2_EverythingIsWrittenCommittedAndCounted) {
  auto topic = filled_and_ended(4, 1000);
  const RunReport report = run(topic);
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_EQ(sorted(capture->lines()), everything(4, 1000));
  for (const PartitionId p : topic->partitions()) EXPECT_EQ(topic->committed().at(p), Watermark(1000));
  EXPECT_EQ(report.committed.size(), 4U);
  EXPECT_EQ(report.records_in, 4000U);
  EXPECT_EQ(report.records_out, 4000U);
  EXPECT_EQ(report.records_unacknowledged, 0U);
  EXPECT_EQ(report.batches_written, capture->batches().size());
  EXPECT_GE(topic->flushes(), 1U);
  EXPECT_TRUE(source.script->seen().closed);
  EXPECT_TRUE(capture->closed());
  EXPECT_EQ(capture->closed_writers(), 1U);
}

TEST_F(Completion, LanesWithoutWakersToo) {
  source.wakers = false;
  const RunReport report = run(filled_and_ended(5, 300));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(sorted(capture->lines()), everything(5, 300));
}

// More lanes than threads, batches of one record, and a partition keeps its order.
TEST_F(Completion, OneThreadManyLanesKeepTheOrderOfEachPartition) {
  PipelineOptions options = quick();
  options.threads = 1;
  source.batch_records = 1;
  const RunReport report = run(filled_and_ended(16, 50), {}, options, small_chunks(3));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  std::map<std::string, std::vector<std::string>> by_partition;
  for (const std::string& line : capture->lines()) by_partition[line.substr(0, line.find('-'))].push_back(line);
  ASSERT_EQ(by_partition.size(), 16U);
  for (std::uint32_t p = 0; p < 16; ++p) {
    std::vector<std::string> expected;
    for (std::size_t i = 0; i < 50; ++i) expected.push_back(payload_of(p, i));
    EXPECT_EQ(by_partition["p" + std::to_string(p)], expected);
  }
}

// M07: nothing at all, nothing in any lane, one full lane of eight.
TEST_F(Completion, M07_EmptyInputsComplete) {
  EXPECT_EQ(run(filled_and_ended(0, 0)).state, ExitState::completed);
  EXPECT_EQ(run(filled_and_ended(3, 0)).state, ExitState::completed);
  EXPECT_TRUE(capture->batches().empty());
  auto one_of_eight = std::make_shared<MemoryTopic>(8);
  for (std::size_t i = 0; i < 25; ++i) one_of_eight->append(partition(5), payload_of(5, i));
  one_of_eight->end();
  const RunReport report = run(one_of_eight);
  EXPECT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(report.records_out, 25U);
  EXPECT_EQ(one_of_eight->committed().at(partition(5)), Watermark(25));
}

// M07, K18: everything is filtered out; no object, but the watermark moves to the end.
TEST_F(Completion, M07_K18_AFilteredInputCompletesAndCommits) {
  auto topic = filled_and_ended(2, 100);
  LineChainOptions chain;
  chain.look = [](std::string_view, const RecordMeta&) { return LineAction::filter; };
  const RunReport report = run(topic, chain);
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_TRUE(capture->batches().empty());
  EXPECT_EQ(report.records_filtered, 200U);
  EXPECT_EQ(topic->committed().at(partition(1)), Watermark(100));
}

// Records in = out + filtered + skipped (M09), each skip under its reason (INV-6).
TEST_F(Completion, INV6_M09_TheCountsBalance) {
  LineChainOptions chain;
  chain.look = [](std::string_view, const RecordMeta& meta) {
    if (meta.offset.value() % 10 == 3) return LineAction::filter;
    if (meta.offset.value() % 10 == 7) return LineAction::skip;
    return LineAction::write;
  };
  const RunReport report = run(filled_and_ended(3, 100), chain);
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(report.records_in, 300U);
  EXPECT_EQ(report.records_filtered, 30U);
  EXPECT_EQ(report.records_skipped, (std::map<std::string, std::uint64_t>{{"malformed", 30U}}));
  EXPECT_EQ(report.records_out, 240U);
}

// M07: the last write fails and then succeeds.
TEST_F(Completion, M07_ARetriedLastWriteCompletes) {
  capture->fail_next(3, Error::retryable(ErrorCode::unavailable, "503 SlowDown"));
  auto topic = filled_and_ended(1, 5);
  const RunReport report = run(topic);
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(capture->lines().size(), 5U);
  const auto tries = capture->tries();
  ASSERT_EQ(tries.size(), 4U);
  for (const IdempotencyToken& token : tries) EXPECT_EQ(token, tries[0]);
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(5));
}

// Goal: the end of a run waits for no timer: not for the commit interval, not for a back-pressure pause. Method: the
// clock never moves.
TEST_F(Completion, FinishesWithoutTimePassing) {
  ManualClock clock;
  Pipeline pipeline(quick());
  auto topic = filled_and_ended(3, 200);
  pipeline.sink(CaptureSink::make(capture, small_chunks())).chain_factory(LineChain::factory()).clock(clock);
  const RunReport report = pipeline.run(MemorySource::make(topic));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(report.elapsed, Duration::zero());
  EXPECT_EQ(topic->committed().at(partition(2)), Watermark(200));
}

TEST_F(Completion, INV2_AFailedLastCommitIsNotCompleted) {
  auto topic = filled_and_ended(1, 10);
  topic->fail_commits({Error::fatal(ErrorCode::fenced, "another run took over")});
  const RunReport report = run(topic);
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code(), ErrorCode::fenced);
  EXPECT_EQ(report.exit_code(), 1);
  EXPECT_EQ(capture->lines().size(), 10U);
}

TEST_F(Completion, INV2_AFailedLastFlushIsNotCompleted) {
  auto topic = filled_and_ended(1, 10);
  topic->fail_flushes({Error::fatal(ErrorCode::permission_denied, "403 AccessDenied")});
  const RunReport report = run(topic);
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code(), ErrorCode::permission_denied);
}

TEST_F(Completion, INV2_ALastCommitIsTriedAgainUntilItSucceeds) {
  auto topic = filled_and_ended(1, 10);
  const Error slow = Error::retryable(ErrorCode::throttled, "503 SlowDown");
  topic->fail_commits({slow, slow, slow});
  topic->fail_flushes({slow});
  const RunReport report = run(topic);
  EXPECT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(10));
  EXPECT_EQ(topic->flushes(), 1U);
}

TEST_F(Completion, INV2_ACommitThatNeverSucceedsFailsAtTheDeadline) {
  auto topic = filled_and_ended(1, 10);
  topic->fail_commits(std::vector(1000, Error::retryable(ErrorCode::throttled, "503 SlowDown")));
  PipelineOptions options = quick();
  options.drain_timeout = std::chrono::milliseconds(300);
  const RunReport report = run(topic, {}, options);
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code(), ErrorCode::throttled);
  EXPECT_TRUE(topic->committed().empty());
}

// K22: what a writer says on closing counts: the records after the last commit are read again.
TEST_F(Completion, K22_AWriterThatFailsToCloseIsNotCompleted) {
  auto topic = filled_and_ended(1, 10);
  capture->fail_close(Error::fatal(ErrorCode::io, "the disk is gone"));
  PipelineOptions options = quick();
  options.checkpoint_interval = std::chrono::hours(1);
  const RunReport report = run(topic, {}, options);
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code(), ErrorCode::io);
}

// M09: an engine that believed a chain's own count would call this Completed.
TEST_F(Completion, M09_AChainThatLosesARecordIsNotCompleted) {
  class Loser final : public LaneChain {
   public:
    explicit Loser(const ChainContext& context) : sink_(context.outputs->find("")) {}
    ChainStep run(const PayloadBatch& batch, std::size_t /*from*/, AckRef& ack, AckIssuer& /*issuer*/,
                  ChainCounts& counts) override {
      sink_->begin_batch(batch);
      for (std::size_t i = 0; i < batch.payloads.size(); ++i) {
        ++counts.records_in;
        ++counts.records_out;
        if (i == 3) continue;
        sink_->begin_record(batch.meta(i)).append("x");
        sink_->end_record(batch.meta(i), ack);
      }
      return {batch.payloads.size(), std::nullopt};
    }
    LaneSink* sink_;
  };
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, {})).chain_factory([](const ChainContext& context) {
    return Result<std::unique_ptr<LaneChain>>(std::make_unique<Loser>(context));
  });
  const RunReport report = pipeline.run(MemorySource::make(filled_and_ended(1, 10)));
  EXPECT_EQ(report.state, ExitState::failed);
  EXPECT_EQ(report.records_unacknowledged, 1U);
}

TEST_F(Completion, MistakesOfAssemblyAreConfigurationErrors) {
  const auto topic = filled_and_ended(1, 1);
  {
    Pipeline pipeline;
    const RunReport report = pipeline.run(MemorySource::make(topic));
    EXPECT_EQ(report.exit_code(), 2);
    EXPECT_EQ(pipeline.run(MemorySource::make(topic)).error->code(), ErrorCode::usage);
  }
  {
    Pipeline pipeline;
    pipeline.sink(CaptureSink::make(capture));
    EXPECT_EQ(pipeline.run(MemorySource::make(topic)).exit_code(), 2);
  }
  {
    Pipeline pipeline;
    pipeline.sink(CaptureSink::make(capture)).sink(CaptureSink::make(capture)).chain_factory(LineChain::factory());
    EXPECT_EQ(pipeline.run(MemorySource::make(topic)).exit_code(), 2);
  }
  {
    PipelineOptions options;
    options.checkpoint_interval = std::chrono::milliseconds(99);
    EXPECT_EQ(run(topic, {}, options).exit_code(), 2);
  }
  {
    Pipeline pipeline;
    pipeline.sink(fail(Error::config("bad url"))).chain_factory(LineChain::factory());
    const RunReport report = pipeline.run(MemorySource::make(topic));
    EXPECT_EQ(report.error->message(), "bad url");
  }
  EXPECT_TRUE(topic->committed().empty());
}

TEST_F(Completion, AnErrorAtTheStartMovesNoRecordAndClosesWhatWasOpened) {
  auto topic = filled_and_ended(1, 10);
  Pipeline pipeline(quick());
  CaptureSinkOptions broken;
  broken.open_error = Error::fatal(ErrorCode::not_found, "no such bucket");
  pipeline.sink("good", CaptureSink::make(capture)).sink("bad", CaptureSink::make(capture, broken));
  pipeline.chain_factory(LineChain::factory());
  const RunReport report = pipeline.run(MemorySource::make(topic, source));
  EXPECT_EQ(report.state, ExitState::failed);
  EXPECT_EQ(report.error->code(), ErrorCode::not_found);
  EXPECT_FALSE(source.script->seen().opened);
  EXPECT_EQ(capture->closed_writers(), 1U);
  EXPECT_EQ(report.records_in, 0U);
}

TEST_F(Completion, INV10_TwoPipelinesOfOneNameInOneRegistryAreAStartError) {
  auto registry = std::make_shared<MetricRegistry>();
  for (const ExitState expected : {ExitState::completed, ExitState::failed}) {
    Pipeline pipeline(quick());
    pipeline.sink(CaptureSink::make(capture, small_chunks())).chain_factory(LineChain::factory()).metrics(registry);
    const RunReport report = pipeline.run(MemorySource::make(filled_and_ended(1, 10)));
    EXPECT_EQ(report.state, expected) << why(report);
  }
  EXPECT_EQ(capture->lines().size(), 10U);
}

TEST_F(Completion, TheFamiliesOfEachStageAreThere) {
  auto registry = std::make_shared<MetricRegistry>();
  Pipeline pipeline(quick());
  pipeline.sink("out", CaptureSink::make(capture, small_chunks(5))).chain_factory(LineChain::factory());
  pipeline.metrics(registry);
  ASSERT_EQ(pipeline.run(MemorySource::make(filled_and_ended(2, 50))).state, ExitState::completed);
  const std::string text = registry->to_prometheus_text();
  const auto has = [&](std::string_view line) { return text.find(line) != std::string::npos; };
  EXPECT_TRUE(has(R"(etl_source_records_total{pipeline="millrace",component="source",component_type="source"} 100)"));
  EXPECT_TRUE(has(R"(etl_sink_records_total{pipeline="millrace",component="out",component_type="capture"} 100)"));
  EXPECT_TRUE(has(R"(reason="records"} 20)"));
  EXPECT_TRUE(has(R"(state="completed"} 1)"));
  EXPECT_TRUE(has(R"(state="running"} 0)"));
  for (const char* family : {"etl_deser_records_total", "etl_operator_records_in_total", "etl_queue_depth",
                             "etl_backpressure_inflight_bytes", "etl_checkpoint_commits_total",
                             "etl_checkpoint_pending_batches", "etl_e2e_latency_seconds", "etl_pipeline_info"}) {
    EXPECT_TRUE(has(family)) << family;
  }
  // Every gauge that counts something under way is back at zero.
  EXPECT_TRUE(
      has(R"(etl_checkpoint_pending_batches{pipeline="millrace",component="pipeline",component_type="pipeline"} 0)"));
  EXPECT_TRUE(
      has(R"(etl_backpressure_inflight_bytes{pipeline="millrace",component="pipeline",component_type="pipeline"} 0)"));
  EXPECT_TRUE(has(R"(etl_sink_inflight_batches{pipeline="millrace",component="out",component_type="capture"} 0)"));
}

}  // namespace
}  // namespace millrace::testing
