// SPDX-License-Identifier: Apache-2.0
// INV-1: no position is committed before everything before it is durable in every sink it went to.
#include <gtest/gtest.h>

#include <stdexcept>

#include "engine_fixture.h"

namespace millrace::testing {
namespace {

struct Delivery : ::testing::Test {
  std::shared_ptr<Capture> capture = std::make_shared<Capture>();
  MemorySourceOptions source;
};

// The watermark of a partition whose record `failing` failed, when records come in order and chunks hold `chunk`
// records.
Watermark committed(const MemoryTopic& topic, std::uint32_t p) {
  const auto all = topic.committed();
  const auto found = all.find(partition(p));
  return found == all.end() ? Watermark(0) : found->second;
}

TEST_F(Delivery, INV1_NothingIsCommittedWhileItsWriteIsUnderWay) {
  ManualClock clock;
  auto topic = filled_and_ended(1, 30);
  capture->hold();
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory()).clock(clock);
  BackgroundRun run(pipeline, MemorySource::make(topic, source));
  ASSERT_TRUE(capture->wait_for_held(1));
  const auto next_interval = [&] {
    clock.advance(quick().checkpoint_interval);
    return eventually([&] { return pipeline.snapshot().since_control_heartbeat == Duration::zero(); });
  };
  ASSERT_TRUE(eventually([&] { return next_interval() && pipeline.snapshot().pending_batches == 3; }));
  for (int interval = 0; interval < 5; ++interval) ASSERT_TRUE(next_interval());
  EXPECT_TRUE(topic->commits().empty());
  capture->release();
  EXPECT_EQ(run.join().state, ExitState::completed);
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(30));
}

// M01: the sink refuses the chunk of records 40 to 49 for good; the watermark comes to rest right before it.
TEST_F(Delivery, INV1_M01_APermanentFailureStopsTheWatermarkBeforeIt) {
  auto topic = filled_and_ended(1, 100);
  capture->decide([](const SealedBatch& batch) -> std::optional<Error> {
    if (batch.chunk.first_offset.value() <= 45 && batch.chunk.last_offset.value() >= 45) {
      return Error::fatal(ErrorCode::permission_denied, "403 AccessDenied");
    }
    return std::nullopt;
  });
  Pipeline pipeline(quick());
  pipeline.sink("orders", CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory());
  const RunReport report = pipeline.run(MemorySource::make(topic));
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code(), ErrorCode::permission_denied);
  EXPECT_NE(report.error->message().find("offsets 40 to 49 of partition 0"), std::string::npos) << why(report);
  EXPECT_NE(report.error->describe().find("sink orders"), std::string::npos) << why(report);
  EXPECT_EQ(committed(*topic, 0), Watermark(40));
  // Nothing behind it is written: it would be written again by the next run.
  EXPECT_EQ(capture->lines().size(), 40U);
  EXPECT_EQ(report.records_out, 40U);
  EXPECT_EQ(report.records_unacknowledged, 60U);
}

// M01, the fan-out: one of two sinks refuses; what only the other holds is not committed.
TEST_F(Delivery, INV1_M01_AFanOutWaitsForEveryBranch) {
  auto topic = filled_and_ended(1, 100);
  auto other = std::make_shared<Capture>();
  other->decide([](const SealedBatch& batch) -> std::optional<Error> {
    if (batch.chunk.first_offset.value() >= 35) return Error::fatal(ErrorCode::io, "no");
    return std::nullopt;
  });
  Pipeline pipeline(quick());
  pipeline.sink("a", CaptureSink::make(capture, small_chunks(10)));
  pipeline.sink("b", CaptureSink::make(other, small_chunks(7)));
  pipeline.chain_factory(LineChain::factory({.outputs = {"a", "b"}, .look = {}}));
  const RunReport report = pipeline.run(MemorySource::make(topic));
  EXPECT_EQ(report.state, ExitState::failed);
  EXPECT_EQ(committed(*topic, 0), Watermark(35));
  EXPECT_EQ(other->lines().size(), 35U);
}

// The records before a failing one are written and committed; the error names lane, partition and offset.
TEST_F(Delivery, INV1_M12_AFailingRecordStopsTheWatermarkRightBeforeIt) {
  auto topic = filled_and_ended(4, 100);
  LineChainOptions chain;
  chain.look = [](std::string_view, const RecordMeta& meta) {
    return meta.partition == PartitionId(2) && meta.offset == Offset(57) ? LineAction::fail : LineAction::write;
  };
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory(chain));
  const RunReport report = pipeline.run(MemorySource::make(topic));
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  for (const char* part : {"lane=2", "partition=2", "offset=57"}) {
    EXPECT_NE(report.error->describe().find(part), std::string::npos) << part << " in " << why(report);
  }
  EXPECT_EQ(committed(*topic, 2), Watermark(57));
  // The other lanes stop where they are, and what they had read is settled.
  const std::vector<std::string> lines = capture->lines();
  EXPECT_EQ(lines.size(), static_cast<std::size_t>(committed(*topic, 0).value() + committed(*topic, 1).value() + 57 +
                                                   committed(*topic, 3).value()));
}

TEST_F(Delivery, INV1_M12_ThrowingUserCodeFailsItsBatchAndIsNamed) {
  auto topic = filled_and_ended(2, 100);
  source.batch_records = 10;
  LineChainOptions chain;
  chain.look = [](std::string_view, const RecordMeta& meta) {
    if (meta.partition == PartitionId(1) && meta.offset == Offset(33)) throw std::runtime_error("division by zero");
    return LineAction::write;
  };
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory(chain));
  const RunReport report = pipeline.run(MemorySource::make(topic, source));
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code(), ErrorCode::user_code);
  EXPECT_NE(report.error->message().find("division by zero"), std::string::npos);
  EXPECT_NE(report.error->message().find("lane 1"), std::string::npos);
  EXPECT_EQ(committed(*topic, 1), Watermark(30));
}

TEST_F(Delivery, INV1_AThrowingWriterFailsItsBatchAndIsNamed) {
  auto topic = filled_and_ended(1, 100);
  capture->decide([](const SealedBatch& batch) -> std::optional<Error> {
    if (batch.chunk.first_offset == Offset(20)) throw std::runtime_error("writer bug");
    return std::nullopt;
  });
  CaptureSinkOptions sink = small_chunks(10);
  sink.retry.on_failure = OnWriteFailure::drop;  // not for mistakes in code
  Pipeline pipeline(quick());
  pipeline.sink("orders", CaptureSink::make(capture, sink)).chain_factory(LineChain::factory());
  const RunReport report = pipeline.run(MemorySource::make(topic));
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code(), ErrorCode::user_code);
  EXPECT_NE(report.error->message().find("writer bug"), std::string::npos);
  EXPECT_EQ(committed(*topic, 0), Watermark(20));
}

TEST_F(Delivery, ThrowingSourcesAreNamed) {
  for (const bool at_open : {true, false}) {
    class Thrower final : public Source {
     public:
      explicit Thrower(bool open) : open_(open) {}
      Result<void> open(SourceContext /*context*/) override {
        if (open_) throw std::runtime_error("open bug");
        return {};
      }
      Result<SourceEvent> poll_events(Duration /*timeout*/) override { throw std::runtime_error("event bug"); }
      Result<void> commit(std::span<const PartitionWatermark> /*watermarks*/) override { return {}; }
      bool open_;
    };
    Pipeline pipeline(quick());
    pipeline.sink(CaptureSink::make(capture)).chain_factory(LineChain::factory());
    const RunReport report = pipeline.run(std::make_unique<Thrower>(at_open));
    EXPECT_EQ(report.state, ExitState::failed);
    EXPECT_NE(report.error->message().find(at_open ? "open bug" : "event bug"), std::string::npos) << why(report);
  }
}

// K01: what a crash leaves behind. A run whose sink fails part of the way, then a second one on the same topic: the
// union is the input, and nothing that was committed is missing from the first.
TEST_F(Delivery, INV1_K01_TheUnionOfTwoRunsIsTheInput) {
  auto topic = filled_and_ended(3, 200);
  std::size_t writes = 0;
  capture->decide([&writes](const SealedBatch&) -> std::optional<Error> {
    if (++writes > 17) return Error::fatal(ErrorCode::unavailable, "gone");
    return std::nullopt;
  });
  {
    Pipeline pipeline(quick());
    pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory());
    EXPECT_EQ(pipeline.run(MemorySource::make(topic)).state, ExitState::failed);
  }
  const std::vector<std::string> first = unique(capture->lines());
  EXPECT_EQ(first.size(), 170U);
  std::size_t settled = 0;
  for (std::uint32_t p = 0; p < 3; ++p) {
    for (std::int64_t i = 0; i < committed(*topic, p).value(); ++i) {
      EXPECT_TRUE(std::ranges::binary_search(first, payload_of(p, static_cast<std::size_t>(i))));
      ++settled;
    }
  }
  EXPECT_EQ(settled, 170U);  // a dead sink costs no replay: every chunk that was written is committed
  capture->decide({});
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, small_chunks(10))).chain_factory(LineChain::factory());
  EXPECT_EQ(pipeline.run(MemorySource::make(topic)).state, ExitState::completed);
  EXPECT_EQ(unique(capture->lines()), everything(3, 200));
}

// on_failure: drop is the operator's word: the batch is counted and acknowledged, and the report balances.
TEST_F(Delivery, INV6_DroppedBatchesAreCounted) {
  auto topic = filled_and_ended(1, 100);
  capture->decide([](const SealedBatch& batch) -> std::optional<Error> {
    if (batch.chunk.first_offset == Offset(20)) return Error::retryable(ErrorCode::unavailable, "503");
    return std::nullopt;
  });
  CaptureSinkOptions sink = small_chunks(10);
  sink.retry.on_failure = OnWriteFailure::drop;
  sink.retry.max_attempts = 3;
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, sink)).chain_factory(LineChain::factory());
  const RunReport report = pipeline.run(MemorySource::make(topic));
  EXPECT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(report.writes_dropped, 1U);
  EXPECT_EQ(report.records_skipped, (std::map<std::string, std::uint64_t>{{"write_dropped", 10U}}));
  EXPECT_EQ(report.records_in, report.records_out + 10);
  EXPECT_EQ(committed(*topic, 0), Watermark(100));
}

TEST_F(Delivery, OnFailureFailGivesUpAfterItsTries) {
  auto topic = filled_and_ended(1, 100);
  capture->decide([](const SealedBatch& batch) -> std::optional<Error> {
    if (batch.chunk.first_offset == Offset(20)) return Error::retryable(ErrorCode::unavailable, "503");
    return std::nullopt;
  });
  CaptureSinkOptions sink = small_chunks(10);
  sink.retry.on_failure = OnWriteFailure::fail;
  sink.retry.max_attempts = 3;
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, sink)).chain_factory(LineChain::factory());
  const RunReport report = pipeline.run(MemorySource::make(topic));
  EXPECT_EQ(report.state, ExitState::failed);
  EXPECT_NE(report.error->message().find("given up after 3 tries"), std::string::npos) << why(report);
  EXPECT_EQ(committed(*topic, 0), Watermark(20));
  EXPECT_EQ(capture->tries().size(), 5U);
}

}  // namespace
}  // namespace millrace::testing
