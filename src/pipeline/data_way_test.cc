// SPDX-License-Identifier: Apache-2.0
// What stands at each stage, for pipelines of several kinds: worked out by hand from their options.
#include "pipeline/data_way.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pipeline/told_sink.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kMi = std::uint64_t{1} << 20U;

struct Way : ::testing::Test {
  PipelineOptions options;
  SourceWay source{.rows = {{.stage = DataStage::get, .here = "wells", .thread = "fetch I/O", .threads = 1},
                            {.stage = DataStage::source, .here = "buckets", .thread = "lane", .threads = 3},
                            {.stage = DataStage::commit, .here = "a book", .thread = "control", .threads = 1}},
                   .memory = {{"fetched", 7, "3 x 7", DataStage::get}, {"spring", 5, "", DataStage::commit}},
                   .lanes = 3,
                   .record_option = ""};
  DecodeOptions decode;
  ops::TransformProgram transforms;
  ToldSink sink;
  ToldSink letters;
  bool with_letters = false;

  [[nodiscard]] DataWay made() const {
    return data_way({.options = &options,
                     .source = source,
                     .decode = &decode,
                     .transforms = &transforms,
                     .sink = {&sink, ""},
                     .letters = {with_letters ? &letters : nullptr, "a cellar"}});
  }
  /// "stage: what stands there".
  [[nodiscard]] std::vector<std::string> told() const {
    std::vector<std::string> lines;
    for (const StageRow& row : made().rows) lines.push_back(std::string(name_of(row.stage)) + ": " + row.here);
    return lines;
  }
  [[nodiscard]] std::string at(DataStage stage) const {
    for (const StageRow& row : made().rows) {
      if (row.stage == stage) return row.here;
    }
    return "no row";
  }
};

TEST_F(Way, RowsStandInTheOrderOfTheData) {
  EXPECT_THAT(told(),
              ElementsAre("get: wells", "source: buckets; on as many threads as cores (pipeline.threads)",
                          "decode: nothing: payloads pass as they came", "encode: raw, '\\n' behind each record",
                          "seal: seals at 8.0 MiB", "write: told sink; a write that fails: stall",
                          "ack: settled where the last copy of a batch ends, durable or left out",
                          "checkpoint: positions up to the first batch that is open, committed each 5s "
                          "(checkpoint.interval)",
                          "commit: a book"));
}

TEST_F(Way, ThreadsAreCounted) {
  sink.all_traits.concurrency = 6;
  std::vector<std::string> threads;
  for (const StageRow& row : made().rows) threads.push_back(row.thread + " " + std::to_string(row.threads));
  EXPECT_THAT(threads, ElementsAre("fetch I/O 1", "lane 3", "lane 3", "lane 3", "lane 3", "sink I/O 6",
                                   "sink I/O, lane 0", "control 1", "control 1"));
  source.lanes.reset();
  EXPECT_EQ(made().rows[2].threads, 0U) << "only a run finds out";
  options.threads = 2;
  EXPECT_THAT(at(DataStage::source), HasSubstr("on 2 threads at most"));
}

TEST_F(Way, WhatIsHeldStandsAtItsStage) {
  sink.policy.max_bytes = 8 * kMi;
  sink.spec.delimiter = "";
  const DataWay way = made();
  ASSERT_EQ(way.rows.size(), 9U);
  EXPECT_THAT(way.rows[0].holds, ElementsAre(MemoryPart{"fetched", 7, "3 x 7", DataStage::get}));
  EXPECT_THAT(way.rows[1].holds, IsEmpty());
  const auto& sealed = way.rows[4].holds;
  ASSERT_EQ(sealed.size(), 3U);
  EXPECT_EQ(sealed[0].what, "open output");
  EXPECT_EQ(sealed[0].bytes, 3 * 9 * kMi) << "three lanes, and a source that says nothing of its records: 1 MiB";
  EXPECT_EQ(sealed[2].what, "sealed output");
  EXPECT_THAT(sealed[2].why, HasSubstr("pipeline.max_inflight_bytes (256.0 MiB)"));
  EXPECT_THAT(way.rows[5].holds, ElementsAre(::testing::Field(&MemoryPart::what, "writers")));
  EXPECT_THAT(way.rows[6].holds, ElementsAre(::testing::Field(&MemoryPart::what, "positions")));
  EXPECT_THAT(way.rows[8].holds, ElementsAre(::testing::Field(&MemoryPart::what, "spring")));
  EXPECT_THAT(way.beside, ElementsAre(::testing::Field(&MemoryPart::what, "program")));
}

TEST_F(Way, DecodersInWords) {
  using Kind = DecodeOptions::Kind;
  decode.kind = Kind::json;
  EXPECT_EQ(at(DataStage::decode), "json, a document a payload, on_error fail");
  decode.framing = decode::JsonFraming::array;
  decode.reject_duplicate_keys = true;
  decode.on_error = OnError::skip;
  EXPECT_EQ(at(DataStage::decode), "json, an array of documents a payload, no key twice, on_error skip");
  decode = {.kind = Kind::csv, .types = CsvTypes::infer};
  EXPECT_EQ(at(DataStage::decode), "csv, rows become objects, types infer, on_error fail");
  decode = {.kind = Kind::text};
  EXPECT_EQ(at(DataStage::decode), "text, on_error fail");
}

// The values that they hold may be secrets.
TEST_F(Way, TransformsAreTheirNames) {
  EXPECT_EQ(at(DataStage::transforms), "no row");
  ops::FieldSetting setting;
  setting.key = FieldPath{{"token"}};
  setting.value.json = "\"hunter2\"";
  transforms = *ops::TransformProgram::make({ops::AddFields{{setting}}, ops::DeleteFields{{FieldPath{{"a"}}}}});
  EXPECT_EQ(at(DataStage::transforms), "add_fields, delete_fields");
}

TEST_F(Way, FormatsAndSealsInWords) {
  sink.spec.format = EncodeFormat::json_lines;
  sink.spec.wrap = true;
  EXPECT_EQ(at(DataStage::encode), "json_lines of wrapped payloads with metadata");
  sink.spec.include_headers = true;
  EXPECT_EQ(at(DataStage::encode), "json_lines of wrapped payloads with metadata and headers");
  sink.spec.format = EncodeFormat::json_array;
  sink.spec.wrap = false;
  EXPECT_EQ(at(DataStage::encode), "json_array of payloads");
  sink.spec.format = EncodeFormat::discard;
  EXPECT_EQ(at(DataStage::encode), "nothing: records are counted");
  sink.policy.max_records = 1000;
  sink.policy.max_age = std::chrono::minutes(5);
  sink.policy.max_idle = std::chrono::seconds(30);
  EXPECT_EQ(at(DataStage::seal), "seals at 8.0 MiB or 1,000 records or 5m or 30s without a record");
  sink.policy = {
      .max_bytes = 0, .boundary = SealPolicy::Boundary::hour, .routed = true, .compression = {Codec::zstd, 3}};
  EXPECT_EQ(at(DataStage::seal), "seals where a partition ends, apart by hour and value, zstd");
  sink.retry = {.max_attempts = 3, .on_failure = OnWriteFailure::drop};
  EXPECT_EQ(at(DataStage::write), "told sink; a write that fails: drop after 3 attempts");
  sink.retry = {.max_attempts = 0, .on_failure = OnWriteFailure::fail};
  EXPECT_EQ(at(DataStage::write), "told sink; a write that fails: fail after 1 attempt");
}

TEST_F(Way, DeadLettersHaveRowsOfTheirOwn) {
  with_letters = true;
  letters.spec.format = EncodeFormat::json_lines;
  letters.spec.wrap = true;
  const std::vector<std::string> lines = told();
  ASSERT_EQ(lines.size(), 12U);
  EXPECT_EQ(lines[4], "encode: dead letters: json_lines of letters");
  EXPECT_EQ(lines[5], "seal: seals at 8.0 MiB");
  EXPECT_EQ(lines[6], "seal: dead letters: seals at 8.0 MiB");
  EXPECT_EQ(lines[8], "write: dead letters: a cellar; a write that fails: stall");
  EXPECT_THAT(made().rows[5].holds,
              ::testing::Contains(::testing::Field(&MemoryPart::what, "dead letters: open output")));
}

}  // namespace
}  // namespace millrace
