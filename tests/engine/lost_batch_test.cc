// SPDX-License-Identifier: Apache-2.0
// Goal: a batch that its sink gives up on the operator's word is in a dead letter before the position moves past it; of
// several sinks, one that fails holds the position for all. Method: whole runs whose writes the test decides.
#include <gmock/gmock.h>

#include "engine_fixture.h"
#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/ops/ops.h"

namespace millrace::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct LostBatches : ::testing::Test {
  LostBatches() {
    sink.retry.on_failure = OnWriteFailure::drop;
    sink.retry.max_attempts = 2;
    written->decide([](const SealedBatch& batch) -> std::optional<Error> {
      if (batch.chunk.first_offset != Offset(50)) return std::nullopt;
      return Error::retryable(ErrorCode::unavailable, "503 SlowDown");
    });
  }
  CaptureSinkOptions sink = small_chunks(10);
  CaptureSinkOptions letters_sink = small_chunks(10);
  std::shared_ptr<Capture> written = std::make_shared<Capture>();
  std::shared_ptr<Capture> letters = std::make_shared<Capture>();
};

TEST_F(LostBatches, M01_TheWatermarkWaitsUntilTheBatchIsInALetter) {
  const auto topic = filled_and_ended(1, 100);
  letters->hold();
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(written, sink))
      .dead_letter(CaptureSink::make(letters, letters_sink))
      .chain_factory(passing());
  BackgroundRun background(pipeline, MemorySource::make(topic));
  ASSERT_TRUE(letters->wait_for_held(1));
  ASSERT_TRUE(written->wait_for_batches(9));
  ASSERT_TRUE(eventually([&] { return topic->committed().contains(partition(0)); }));
  EXPECT_LE(topic->committed().at(partition(0)), Watermark(50));
  letters->release();
  const RunReport& report = background.join();
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(100));
  EXPECT_EQ(report.records_in, 100U);
  EXPECT_EQ(report.records_out, 90U);
  EXPECT_EQ(report.records_dead_lettered, (Reasons{{"write_dropped", 10}}));
  EXPECT_EQ(report.dead_letters_written, 10U);
  EXPECT_THAT(report.records_skipped, IsEmpty());
  // The letters' sink writes raw: the batch's own bytes, and its delimiter.
  ASSERT_EQ(letters->batches().size(), 1U);
  const CapturedBatch kept = letters->batches().at(0);
  EXPECT_EQ(kept.first_offset, Offset(50));
  EXPECT_EQ(kept.last_offset, Offset(59));
  std::string expected;
  for (std::size_t i = 50; i < 60; ++i) expected += payload_of(0, i) + "\n";
  EXPECT_EQ(kept.bytes, expected + "\n");
}

TEST_F(LostBatches, M01_ALetterThatFailsTooEndsTheRun) {
  letters_sink.retry.on_failure = OnWriteFailure::fail;
  letters->decide([](const SealedBatch&) { return Error::fatal(ErrorCode::permission_denied, "403 AccessDenied"); });
  const auto topic = filled_and_ended(1, 100);
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(written, sink))
      .dead_letter(CaptureSink::make(letters, letters_sink))
      .chain_factory(passing());
  const RunReport report = pipeline.run(MemorySource::make(topic));
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  EXPECT_THAT(report.error->describe(), HasSubstr("dead_letter"));
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(50));
}

// M01: a letter of a skipped record fills the letters' queue, so a batch that is given up finds no room until the time
// of the drain is up: it is not given up then, and the next run has it.
TEST_F(LostBatches, M01_ALetterWithoutRoomByTheDeadlineGivesNothingUp) {
  PipelineOptions options = quick();
  options.max_inflight_bytes = 1;
  options.drain_timeout = std::chrono::milliseconds(200);
  letters_sink = small_chunks(1);
  written->decide([](const SealedBatch&) { return Error::fatal(ErrorCode::permission_denied, "403 AccessDenied"); });
  letters->decide([this](const SealedBatch&) -> std::optional<Error> {
    EXPECT_TRUE(written->wait_for_closed_writers(1));
    return std::nullopt;
  });
  const auto topic = filled(1, 11);
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(written, sink)).dead_letter(CaptureSink::make(letters, letters_sink));
  pipeline.chain([](const ChainContext&) {
    const auto refuse = [](std::string_view text) -> Result<std::string_view> {
      if (text == "p0-0") return fail(Error::record(ErrorCode::malformed, "bad"));
      return text;
    };
    return decode::raw() | ops::try_map(refuse, {.on_error = OnError::skip}) | encode::raw();
  });
  BackgroundRun background(pipeline, MemorySource::make(topic));
  ASSERT_TRUE(written->wait_for_tries(1));
  pipeline.stop_handle().request();
  const RunReport& report = background.join();
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code(), ErrorCode::not_durable);
  EXPECT_THAT(report.error->message(),
              HasSubstr("keeping offsets 1 to 10 of partition 0 (millrace/memory) as a dead letter"));
  EXPECT_THAT(report.error->message(), HasSubstr("pipeline.drain_timeout"));
  EXPECT_THAT(report.error->message(), HasSubstr("403 AccessDenied"));
  EXPECT_EQ(report.writes_dropped, 0U);
  EXPECT_EQ(report.records_dead_lettered, (Reasons{{"malformed", 1}}));
  EXPECT_THAT(report.records_skipped, IsEmpty());
  EXPECT_EQ(report.records_unacknowledged, 11U);
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(1));
}

// Writers tell batches apart by their tokens, whoever gave them up.
TEST_F(LostBatches, TwoSinksGiveUpUnderTokensOfTheirOwn) {
  const auto other = std::make_shared<Capture>();
  for (const auto& each : {written, other})
    each->decide([](const SealedBatch&) { return Error::fatal(ErrorCode::permission_denied, "403 AccessDenied"); });
  Pipeline pipeline(quick());
  pipeline.sink("a", CaptureSink::make(written, sink)).sink("b", CaptureSink::make(other, sink));
  pipeline.dead_letter(CaptureSink::make(letters, letters_sink)).chain([](const ChainContext&) {
    return decode::raw() | ops::fan_out(encode::raw().to("a"), encode::raw().to("b"));
  });
  const RunReport report = pipeline.run(MemorySource::make(filled_and_ended(1, 20)));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(report.dead_letters_written, 40U);
  const std::vector<IdempotencyToken> tokens = letters->tries();
  ASSERT_EQ(tokens.size(), 4U);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) EXPECT_FALSE(tokens[i] == tokens[k]) << i << " and " << k;
  }
}

// INV-3, INV-4: many workers give up at once while the letters' sink takes one at a time.
TEST_F(LostBatches, ManyAtOnceFindRoomOneAfterTheOther) {
  PipelineOptions options = quick();
  options.max_inflight_bytes = 1;
  sink.traits = {.concurrency = 4, .ordered = false};
  written->decide([](const SealedBatch&) { return Error::fatal(ErrorCode::permission_denied, "403"); });
  const auto topic = filled_and_ended(4, 200);
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(written, sink))
      .dead_letter(CaptureSink::make(letters, letters_sink))
      .chain_factory(passing());
  const RunReport report = pipeline.run(MemorySource::make(topic));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(report.dead_letters_written, 800U);
  std::vector<std::string> kept = letters->lines();
  std::erase(kept, "");  // the delimiter behind each batch
  EXPECT_EQ(sorted(kept), everything(4, 200));
  for (std::uint32_t p = 0; p < 4; ++p) EXPECT_EQ(topic->committed().at(partition(p)), Watermark(200));
}

// M01, the other variant: one of ten sinks of a fan-out refuses record 50 for good.
TEST_F(LostBatches, M01_OneOfTenSinksHoldsThePositionForAll) {
  const auto topic = filled_and_ended(1, 100);
  Pipeline pipeline(quick());
  std::vector<std::shared_ptr<Capture>> all;
  sink.retry.on_failure = OnWriteFailure::fail;
  for (int i = 0; i < 10; ++i) {
    all.push_back(i == 7 ? written : std::make_shared<Capture>());
    pipeline.sink("s" + std::to_string(i), CaptureSink::make(all.back(), sink));
  }
  pipeline.chain([](const ChainContext&) {
    return decode::raw() | ops::fan_out(encode::raw().to("s0"), encode::raw().to("s1"), encode::raw().to("s2"),
                                        encode::raw().to("s3"), encode::raw().to("s4"), encode::raw().to("s5"),
                                        encode::raw().to("s6"), encode::raw().to("s7"), encode::raw().to("s8"),
                                        encode::raw().to("s9"));
  });
  const RunReport report = pipeline.run(MemorySource::make(topic));
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  EXPECT_THAT(report.error->describe(), HasSubstr("sink s7"));
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(50));
}

}  // namespace
}  // namespace millrace::testing
