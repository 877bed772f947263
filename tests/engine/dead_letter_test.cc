// SPDX-License-Identifier: Apache-2.0
// Goal: a record that is skipped is kept where dead letters go before the position moves past it, and one bad record is
// nobody else's affair. Method: whole runs over a topic whose letters' sink the test holds, fails or reads.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "engine_fixture.h"
#include "millrace/decode/raw.h"
#include "millrace/encode/encode.h"
#include "millrace/ops/ops.h"
#include "tests/chain/lane_rig.h"

namespace millrace::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Refuses what the test calls bad, by `policy`.
auto refusing(std::function<bool(std::string_view)> is_bad, OnError policy = OnError::skip) {
  return [is_bad = std::move(is_bad), policy](const ChainContext&) {
    const auto refuse = [is_bad](std::string_view text) -> Result<std::string_view> {
      if (is_bad(text)) return fail(Error::record(ErrorCode::malformed, "bad: " + std::string(text)));
      return text;
    };
    return decode::raw() | ops::try_map(refuse, {.on_error = policy}) | encode::raw();
  };
}

bool ends_in_seven(std::string_view text) { return text.back() == '7'; }

struct DeadLetters : ::testing::Test {
  Result<std::unique_ptr<Sink>> letters_sink(EncodeFormat format = EncodeFormat::raw) {
    CaptureSinkOptions options = small_chunks(2);
    options.encode.format = format;
    options.retry.max_attempts = 2;
    options.retry.on_failure = letters_on_failure;
    return CaptureSink::make(letters, options);
  }
  template <class Chain>
  RunReport run(std::shared_ptr<MemoryTopic> topic, Chain chain) {
    Pipeline pipeline(quick());
    pipeline.sink(CaptureSink::make(written, small_chunks())).dead_letter(letters_sink()).chain(chain);
    return pipeline.run(MemorySource::make(std::move(topic)));
  }
  OnWriteFailure letters_on_failure = OnWriteFailure::stall;
  std::shared_ptr<Capture> written = std::make_shared<Capture>();
  std::shared_ptr<Capture> letters = std::make_shared<Capture>();
};

TEST_F(DeadLetters, INV6_EveryRecordIsInOneOfTheTwoAndTheCountsBalance) {
  const auto topic = filled_and_ended(3, 100);
  const RunReport report = run(topic, refusing(ends_in_seven));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(report.records_in, 300U);
  EXPECT_EQ(report.records_out, 270U);
  EXPECT_THAT(report.records_skipped, IsEmpty());
  EXPECT_EQ(report.records_dead_lettered, (Reasons{{"malformed", 30}}));
  EXPECT_EQ(report.dead_letters_written, 30U) << "K22";
  EXPECT_EQ(report.exit_code(), 0);
  std::vector<std::string> all = written->lines();
  for (const std::string& line : all) EXPECT_NE(line.back(), '7');
  const std::vector<std::string> kept = letters->lines();
  for (const std::string& line : kept) EXPECT_EQ(line.back(), '7');
  all.insert(all.end(), kept.begin(), kept.end());
  EXPECT_EQ(sorted(all), everything(3, 100));
  for (std::uint32_t p = 0; p < 3; ++p) EXPECT_EQ(topic->committed().at(partition(p)), Watermark(100));
}

// INV-1: at each commit, what lies below it is in one of the two.
TEST_F(DeadLetters, INV1_TheWatermarkWaitsForTheLetter) {
  const auto topic = filled(1, 30);
  topic->audit([this](const std::vector<PartitionWatermark>& watermarks) {
    std::vector<std::string> all = written->lines();
    const std::vector<std::string> kept = letters->lines();
    all.insert(all.end(), kept.begin(), kept.end());
    for (std::int64_t i = 0; i < watermarks.at(0).watermark.value(); ++i) {
      ASSERT_TRUE(std::ranges::count(all, payload_of(0, static_cast<std::size_t>(i))) == 1)
          << i << " is committed and stands nowhere";
    }
  });
  letters->hold();
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(written, small_chunks(1))).dead_letter(letters_sink()).chain(refusing(ends_in_seven));
  BackgroundRun background(pipeline, MemorySource::make(topic));
  ASSERT_TRUE(letters->wait_for_held(1)) << "7 and 17 fill a file of letters";
  ASSERT_TRUE(written->wait_for_batches(27));
  // 0 to 6 are through, 7 is not yet.
  ASSERT_TRUE(eventually([&] { return topic->committed().contains(partition(0)); }));
  EXPECT_LE(topic->committed().at(partition(0)), Watermark(7));
  letters->release();
  topic->end();
  const RunReport& report = background.join();
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(30));
  EXPECT_THAT(letters->lines(), ElementsAre("p0-7", "p0-17", "p0-27"));
}

// M01: the letters' sink gives up at record 50; the run fails, and nothing is committed past that record.
TEST_F(DeadLetters, M01_ALetterThatCannotBeWrittenEndsTheRunBeforeIt) {
  letters_on_failure = OnWriteFailure::fail;
  letters->decide([](const SealedBatch& batch) -> std::optional<Error> {
    if (batch.chunk.first_offset < Offset(50)) return std::nullopt;
    return Error::retryable(ErrorCode::unavailable, "503 SlowDown");
  });
  const auto topic = filled_and_ended(1, 100);
  const std::set<std::string_view> bad{"p0-10", "p0-20", "p0-50", "p0-60"};  // two to a file of letters
  const RunReport report = run(topic, refusing([bad](std::string_view text) { return bad.contains(text); }));
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  EXPECT_THAT(report.error->describe(), HasSubstr("dead_letter"));
  EXPECT_THAT(report.error->describe(), HasSubstr("503 SlowDown"));
  EXPECT_EQ(report.dead_letters_written, 2U) << "K22";
  EXPECT_THAT(letters->lines(), ElementsAre("p0-10", "p0-20"));
  ASSERT_TRUE(topic->committed().contains(partition(0)));
  EXPECT_GE(topic->committed().at(partition(0)), Watermark(21));
  EXPECT_LE(topic->committed().at(partition(0)), Watermark(50));
}

TEST_F(DeadLetters, M12_OneBadRecordIsItsLanesAffairUnderSkipAndDeadLetter) {
  const auto bad = [](std::string_view text) { return text == "p2-3"; };
  for (const bool kept : {false, true}) {
    const auto topic = filled_and_ended(4, 10);
    Pipeline pipeline(quick());
    const auto all = std::make_shared<Capture>();
    pipeline.sink(CaptureSink::make(all, small_chunks())).chain(refusing(bad));
    if (kept) pipeline.dead_letter(letters_sink());
    const RunReport report = pipeline.run(MemorySource::make(topic));
    ASSERT_EQ(report.state, ExitState::completed) << why(report);
    EXPECT_EQ(report.records_out, 39U);
    EXPECT_EQ(kept ? report.records_dead_lettered : report.records_skipped, (Reasons{{"malformed", 1}}));
    for (std::uint32_t p = 0; p < 4; ++p) EXPECT_EQ(topic->committed().at(partition(p)), Watermark(10)) << p;
  }
  EXPECT_THAT(letters->lines(), ElementsAre("p2-3"));
}

TEST_F(DeadLetters, M12_UnderFailTheRunStopsWithLaneOffsetAndError) {
  const auto topic = filled_and_ended(4, 10);
  const RunReport report = run(topic, refusing([](std::string_view text) { return text == "p2-3"; }, OnError::fail));
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  EXPECT_THAT(report.error->message(), HasSubstr("offset 3 of partition 2"));
  EXPECT_THAT(report.error->message(), HasSubstr("bad: p2-3"));
  EXPECT_THAT(report.error->describe(), HasSubstr("lane=2"));
  EXPECT_THAT(letters->lines(), IsEmpty());
  EXPECT_EQ(topic->committed().at(partition(2)), Watermark(3));
}

// What throws is no bad record: there is nothing that a letter could be trusted to say.
TEST_F(DeadLetters, M12_WhatThrowsEndsTheRunUnderAnyPolicy) {
  const auto topic = filled_and_ended(1, 10);
  const RunReport report = run(topic, refusing([](std::string_view text) -> bool {
                                 if (text == "p0-3") throw std::runtime_error("broken");
                                 return text == "p0-1";
                               }));
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code(), ErrorCode::user_code);
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(3));
  EXPECT_THAT(letters->lines(), ElementsAre("p0-1"));
}

// INV-2: 27 of 30 records are durable when the time of the drain is up; the three letters are what is open.
TEST_F(DeadLetters, INV2_LettersThatAreNotDurableAreCounted) {
  PipelineOptions options = quick();
  options.drain_timeout = std::chrono::milliseconds(200);
  letters->hold();
  const auto topic = filled(1, 30);
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(written, small_chunks(1))).dead_letter(letters_sink()).chain(refusing(ends_in_seven));
  BackgroundRun background(pipeline, MemorySource::make(topic));
  ASSERT_TRUE(eventually([&] { return pipeline.snapshot().records_out == 27; }));
  pipeline.stop_handle().request();
  const RunReport& report = background.join();
  EXPECT_EQ(report.state, ExitState::failed);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->code(), ErrorCode::not_durable) << why(report);
  EXPECT_EQ(report.records_unacknowledged, 3U);
  EXPECT_EQ(report.records_dead_lettered, (Reasons{{"malformed", 3}}));
  EXPECT_EQ(report.dead_letters_written, 0U);
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(7));
}

// INV-6: what keeps account tells the first fault of a record, whether or not there is a place for letters.
TEST_F(DeadLetters, INV6_ARecordOfTwoFaultsIsCountedByTheFirst) {
  for (const bool kept : {false, true}) {
    std::vector<RigSink> sinks(1);
    if (kept) sinks.push_back({.name = std::string(kDeadLetterSink)});
    LaneRig rig(sinks);
    rig.ledger = std::make_shared<Ledger>();
    const auto each = [](std::string_view text, auto emit) {
      for (const char c : text) emit(std::string(1, c));
    };
    const auto refuse = [](const std::string& text) -> Result<std::string> {
      if (text == "m") return fail(Error::record(ErrorCode::malformed, "m"));
      if (text == "w") return fail(Error::record(ErrorCode::wrong_type, "w"));
      return text;
    };
    rig.chain(decode::raw() | ops::flat_map(each) | ops::try_map(refuse, {.on_error = OnError::skip}) | encode::raw());
    rig.feed({"mw", "wm", "awm", "a"});
    RecordFates fates;
    for (const RecordAccount& account : rig.ledger->take(kRigPartition, Watermark(4)).accounts) fates += account.fates;
    EXPECT_EQ(fates.in, 4U);
    EXPECT_EQ(fates.out, 1U);
    EXPECT_THAT(
        kept ? fates.dead_lettered : fates.skipped,
        ::testing::UnorderedElementsAre(std::pair(ErrorCode::malformed, 1U), std::pair(ErrorCode::wrong_type, 2U)));
    EXPECT_THAT(kept ? fates.skipped : fates.dead_lettered, IsEmpty());
  }
}

// INV-4: letters that nobody takes hold the lane up, as any sink's output does, and cost no memory without end.
TEST_F(DeadLetters, INV4_ALaneWaitsForAFullSinkOfLetters) {
  PipelineOptions options = quick();
  options.max_inflight_bytes = 1;
  letters->hold();
  const auto topic = filled_and_ended(1, 200);
  Pipeline pipeline(options);
  pipeline.sink(CaptureSink::make(written, small_chunks()))
      .dead_letter(letters_sink())
      .chain(refusing([](std::string_view) { return true; }));
  BackgroundRun background(pipeline, MemorySource::make(topic));
  ASSERT_TRUE(letters->wait_for_held(1));
  ASSERT_TRUE(eventually([&] { return pipeline.snapshot().lanes_blocked == 1; }));
  EXPECT_LT(pipeline.snapshot().inflight_bytes, 1024U) << "one file of two letters, and what it costs beside them";
  letters->release();
  const RunReport& report = background.join();
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(report.dead_letters_written, 200U);
  EXPECT_EQ(letters->lines().size(), 200U);
  EXPECT_EQ(topic->committed().at(partition(0)), Watermark(200));
}

TEST_F(DeadLetters, ALetterIsJsonWhereTheSinkWritesJson) {
  const auto topic = std::make_shared<MemoryTopic>(1);
  topic->append(partition(0), "good");
  topic->append(partition(0), "b\xFF\xFE");
  topic->end();
  Pipeline pipeline(quick());
  pipeline.sink(CaptureSink::make(written, small_chunks()))
      .dead_letter(letters_sink(EncodeFormat::json_lines))
      .chain([](const ChainContext&) { return decode::text({.on_error = OnError::skip}) | encode::raw(); });
  const RunReport report = pipeline.run(MemorySource::make(topic));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  ASSERT_EQ(letters->lines().size(), 1U);
  const std::string letter = letters->lines().at(0);
  EXPECT_THAT(letter, ::testing::StartsWith(R"({"offset":1,)"));
  EXPECT_THAT(letter, HasSubstr(R"("reason":"invalid_utf8")"));
  EXPECT_THAT(letter, HasSubstr(R"j("stage":"stage 1 (decode text)")j"));
  // python3 -c 'import base64; print(base64.b64encode(b"b\xff\xfe"))'
  EXPECT_THAT(letter, ::testing::EndsWith(R"("payload":"Yv/+","payload_encoding":"base64"})"));
}

TEST_F(DeadLetters, ASinkThatDropsIsNoPlaceForLetters) {
  letters_on_failure = OnWriteFailure::drop;
  const RunReport report = run(filled_and_ended(1, 1), refusing(ends_in_seven));
  EXPECT_EQ(report.exit_code(), 2);
  ASSERT_TRUE(report.error);
  EXPECT_THAT(report.error->message(), HasSubstr("dead letters drops"));
}

TEST_F(DeadLetters, LettersAloneAreNoPipeline) {
  Pipeline pipeline(quick());
  pipeline.dead_letter(letters_sink()).chain(refusing(ends_in_seven));
  const RunReport report = pipeline.run(MemorySource::make(filled_and_ended(1, 1)));
  EXPECT_EQ(report.exit_code(), 2);
  ASSERT_TRUE(report.error);
  EXPECT_THAT(report.error->message(), HasSubstr("has no sink"));
}

// It is given first, and a chain that names no sink still means the other.
TEST_F(DeadLetters, NoEncoderFindsTheLettersSink) {
  Pipeline pipeline(quick());
  pipeline.dead_letter(letters_sink()).sink(CaptureSink::make(written, small_chunks())).chain(refusing(ends_in_seven));
  const RunReport report = pipeline.run(MemorySource::make(filled_and_ended(1, 10)));
  ASSERT_EQ(report.state, ExitState::completed) << why(report);
  EXPECT_EQ(written->lines().size(), 9U);
  EXPECT_THAT(letters->lines(), ElementsAre("p0-7"));
}

}  // namespace
}  // namespace millrace::testing
