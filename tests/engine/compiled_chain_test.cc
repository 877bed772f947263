// SPDX-License-Identifier: Apache-2.0
// The engine with chains as users write them: what a compiled chain and the lane loop owe each other.
#include <gtest/gtest.h>

#include "engine_fixture.h"
#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/ops/ops.h"

namespace millrace::testing {
namespace {

struct CompiledChain : ::testing::Test {
  std::shared_ptr<Capture> capture = std::make_shared<Capture>();
  MemorySourceOptions source;
  ManualClock clock;
};

// Every batch meets a full queue; operators still see each record once, and the run needs no time.
TEST_F(CompiledChain, INV4_ParksAndResumes) {
  PipelineOptions options = quick();
  options.max_inflight_bytes = 1;
  Pipeline pipeline(options);
  auto seen = std::make_shared<Atomic<std::size_t>>(0);
  pipeline.sink(CaptureSink::make(capture, small_chunks(7))).clock(clock);
  pipeline.chain([seen](const ChainContext&) {
    return decode::text() | ops::inspect([seen](std::string_view) { seen->fetch_add(1); }) | encode::raw();
  });
  const RunReport report = pipeline.run(MemorySource::make(filled_and_ended(3, 700), source));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(report.elapsed, Duration::zero());
  EXPECT_EQ(sorted(capture->lines()), everything(3, 700));
  EXPECT_EQ(seen->load(), 2100U);
}

// A seal in the middle of a batch splits its ack: the watermark rests exactly at the end of the last good chunk.
TEST_F(CompiledChain, INV1_AWatermarkRestsAtTheEndOfAChunk) {
  auto topic = filled_and_ended(1, 100);
  capture->decide([](const SealedBatch& batch) -> std::optional<Error> {
    if (batch.chunk.first_offset.value() >= 35) return Error::fatal(ErrorCode::io, "refused");
    return std::nullopt;
  });
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(capture, small_chunks(7)));
  pipeline.chain([](const ChainContext&) { return decode::raw() | encode::raw(); });
  EXPECT_EQ(pipeline.run(MemorySource::make(topic, source)).state, ExitState::failed);
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(35));
}

// A record that fails right behind a seal, and one in the middle of an open chunk: all before it is written and
// settled.
TEST_F(CompiledChain, INV1_M12_TheWatermarkRestsRightBeforeAFailingRecord) {
  for (const std::int64_t bad : {0, 1, 6, 7, 8, 50, 99}) {
    auto topic = filled_and_ended(1, 100);
    auto fresh = std::make_shared<Capture>();
    Pipeline pipeline(quick());
    pipeline.sink(CaptureSink::make(fresh, small_chunks(7)));
    pipeline.chain([bad](const ChainContext&) {
      return decode::text() | ops::try_map([bad](std::string_view text) -> Result<std::string_view> {
               if (text == payload_of(0, static_cast<std::size_t>(bad))) {
                 return fail(Error::record(ErrorCode::malformed, "bad"));
               }
               return text;
             }) |
             encode::raw();
    });
    const RunReport report = pipeline.run(MemorySource::make(topic, source));
    ASSERT_EQ(report.state, ExitState::failed);
    EXPECT_EQ(report.error->code(), ErrorCode::malformed) << why(report);
    const auto committed = topic->committed();
    EXPECT_EQ(committed.contains(partition(0)) ? committed.at(partition(0)).value() : 0, bad) << why(report);
    EXPECT_EQ(fresh->lines().size(), static_cast<std::size_t>(bad));
  }
}

TEST_F(CompiledChain, INV1_AFanOutWaitsForBothSinks) {
  auto topic = filled_and_ended(2, 300);
  auto other = std::make_shared<Capture>();
  Pipeline pipeline(quick());
  pipeline.sink("a", CaptureSink::make(capture, small_chunks(7))).sink("b", CaptureSink::make(other, small_chunks(11)));
  pipeline.chain(
      [](const ChainContext&) { return decode::raw() | ops::fan_out(encode::raw().to("a"), encode::raw().to("b")); });
  const RunReport report = pipeline.run(MemorySource::make(topic, source));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(sorted(capture->lines()), everything(2, 300));
  EXPECT_EQ(sorted(other->lines()), everything(2, 300));
  EXPECT_EQ(report.records_out, 1200U);
}

TEST_F(CompiledChain, AChainThatNamesNoSinkOfThePipelineIsAConfigurationError) {
  Pipeline pipeline(quick());
  pipeline.sink("a", CaptureSink::make(capture));
  pipeline.chain([](const ChainContext&) { return decode::raw() | encode::raw().to("b"); });
  const RunReport report = pipeline.run(MemorySource::make(filled_and_ended(1, 3), source));
  EXPECT_EQ(report.state, ExitState::failed);
  EXPECT_EQ(report.exit_code(), 2) << why(report);
}

}  // namespace
}  // namespace millrace::testing
