// SPDX-License-Identifier: Apache-2.0
// INV-7: what is held behind a source, worked out by hand for sinks that say what they write.
#include "pipeline/memory_bound.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "millrace/decode/csv.h"
#include "pipeline/told_sink.h"

namespace millrace {
namespace {

constexpr std::uint64_t kMi = std::uint64_t{1} << 20U;

std::map<std::string, std::uint64_t> parts_of(const ToldSink& sink, std::uint64_t lanes, std::uint64_t record,
                                              const DecodeOptions& decode = {}, const Sink* letters = nullptr) {
  PipelineOptions options;
  options.max_inflight_bytes = 100 * kMi;
  options.max_pending_batches = 1000;
  std::map<std::string, std::uint64_t> all;
  for (const MemoryPart& part : memory_bound(options, decode, sink, letters, lanes, record))
    all[part.what] = part.bytes;
  return all;
}

// Two writers, each with a row group that its sink says takes 7 MiB, a line of 3 MiB as it is written, and a file:
// twice what was sealed without a spool, 8 MiB of it with one.
TEST(MemoryBound, INV7_AWriterHoldsAFileInColumns) {
  ToldSink sink;
  sink.policy.max_bytes = 16 * kMi;
  sink.spec.format = EncodeFormat::rows;
  sink.all_traits.concurrency = 2;
  sink.all_traits.writer_memory = 7 * kMi;
  DecodeOptions json;
  json.kind = DecodeOptions::Kind::json;
  const std::uint64_t line = 3 * kMi + 1024;
  const std::uint64_t group = 7 * kMi + 13 * line;
  EXPECT_EQ(parts_of(sink, 1, 3 * kMi, json).at("files in columns"), 2 * (group + 2 * (16 * kMi + line) + 4 * kMi));
  sink.policy.spool_dir = "/spool";
  EXPECT_EQ(parts_of(sink, 1, 3 * kMi, json).at("files in columns"), 2 * (group + 8 * kMi));
  // A row is read once more than it is decoded: with a copy and its tokens.
  EXPECT_EQ(parts_of(sink, 5, 3 * kMi, json).at("decoding"), 5 * (13 + 8) * 3 * kMi);
  EXPECT_EQ(parts_of(sink, 1, 3 * kMi, json).at("writers"), 2 * kMi) << "what is told with the columns counts once";
  sink.spec.format = EncodeFormat::json_lines;
  EXPECT_FALSE(parts_of(sink, 1, 3 * kMi, json).contains("files in columns"));
  EXPECT_EQ(parts_of(sink, 1, 3 * kMi, json).at("writers"), 2 * 8 * kMi) << "copies of a client library, say";
}

TEST(MemoryBound, INV7_ChunksAreAsLargeAsTheirLimitAndOneRecord) {
  ToldSink sink;
  sink.policy.max_bytes = 8 * kMi;
  sink.spec.format = EncodeFormat::raw;
  sink.spec.delimiter = "\n";
  sink.all_traits.concurrency = 3;
  const auto parts = parts_of(sink, 4, 2 * kMi);
  EXPECT_EQ(parts.at("open output"), 4 * (10 * kMi + 1));
  EXPECT_EQ(parts.at("sealed output"), 100 * kMi + 10 * kMi + 1);
  EXPECT_EQ(parts.at("spare output"), 6 * (10 * kMi + 1));
  EXPECT_EQ(parts.at("writers"), 3 * kMi);
  EXPECT_EQ(parts.at("positions"), 4U * 1000 * 192);
}

// A file for each value, up to max_open of them; and what looking into a document takes: a copy, and eight bytes a
// byte.
TEST(MemoryBound, INV7_FilesOfValuesAreCountedAndSoIsFindingThem) {
  ToldSink sink;
  sink.policy.max_bytes = 8 * kMi;
  sink.policy.max_open = 5;
  sink.spec.format = EncodeFormat::raw;
  sink.spec.delimiter = "";
  EXPECT_EQ(parts_of(sink, 4, 2 * kMi).at("open output"), 4 * 10 * kMi);
  sink.policy.routed = true;
  sink.route.parts = {{RouteSpec::Part::From::key, ""}};
  const auto by_key = parts_of(sink, 4, 2 * kMi);
  EXPECT_EQ(by_key.at("open output"), 5 * 4 * 10 * kMi);
  EXPECT_FALSE(by_key.contains("routing"));
  EXPECT_EQ(by_key.at("books of open files"), 4U * (5 * 2048 + 1000 * 5 * 16)) << "a batch is answered for by each";
  sink.policy.max_open = 10'000;
  EXPECT_EQ(parts_of(sink, 4, 2 * kMi).at("books of open files"), 4U * (10'000 * 2048 + 1000 * 4096 * 16))
      << "by no more files than it has records";
  sink.policy.max_open = 5;
  sink.route.parts.push_back({RouteSpec::Part::From::field, "a"});
  EXPECT_EQ(parts_of(sink, 4, 2 * kMi).at("routing"), 4 * 9 * 2 * kMi);
  // Of each record a byte that is not counted: a file of records of one counted byte is twice its limit.
  sink.policy.uncounted = 1;
  sink.policy.max_open = 1;
  EXPECT_EQ(parts_of(sink, 1, 2 * kMi).at("open output"), 18 * kMi);
}

// Letters have lanes' ends, writers and a place in flight of their own; text may be six times as long in JSON.
TEST(MemoryBound, INV7_DeadLettersAreCounted) {
  ToldSink sink;
  sink.policy.max_bytes = 8 * kMi;
  sink.spec.format = EncodeFormat::raw;
  ToldSink letters;
  letters.policy.max_bytes = kMi;
  letters.spec.format = EncodeFormat::json_lines;
  letters.all_traits.concurrency = 2;
  const auto without = parts_of(sink, 4, kMi);
  const auto parts = parts_of(sink, 4, kMi, {}, &letters);
  const std::uint64_t letter = 6 * kMi + 1024 + 6 * (4096 + 1024);
  EXPECT_EQ(parts.at("dead letters: open output"), 4 * (kMi + letter));
  EXPECT_EQ(parts.at("dead letters: writers"), 2 * kMi);
  EXPECT_EQ(parts.at("sealed output"), without.at("sealed output") + kMi + letter);
  EXPECT_EQ(parts.at("open output"), without.at("open output"));
  // A whole file that is given up becomes one letter, in the worker that gives it up.
  sink.retry.on_failure = OnWriteFailure::drop;
  sink.all_traits.concurrency = 3;
  const std::uint64_t file = 8 * kMi + kMi + 1;
  EXPECT_EQ(parts_of(sink, 4, kMi, {}, &letters).at("dead letters: files given up"),
            3 * (6 * file + 1024 + 6 * (4096 + 1024)));
  letters.spec.format = EncodeFormat::discard;
  EXPECT_FALSE(parts_of(sink, 4, kMi, {}, &letters).contains("dead letters: open output"));
}

// A giant record makes a giant chunk, but its buffer is not kept for the next.
TEST(MemoryBound, INV7_SpareBuffersAreOfTheUsualSize) {
  ToldSink sink;
  sink.policy.max_bytes = 8 * kMi;
  sink.spec.format = EncodeFormat::json_lines;
  sink.all_traits.concurrency = 1;
  const auto parts = parts_of(sink, 1, 64 * kMi);
  EXPECT_EQ(parts.at("open output"), 8 * kMi + 89'478'488 + 1024) << "bytes that are no JSON become base64";
  EXPECT_EQ(parts.at("spare output"), 2 * 16 * kMi);
}

// U+001F is one byte that becomes six.
TEST(MemoryBound, INV7_TextThatBecomesJsonMayGrowSixfold) {
  ToldSink sink;
  sink.policy.max_bytes = 8 * kMi;
  sink.spec.format = EncodeFormat::json_lines;
  DecodeOptions decode;
  decode.kind = DecodeOptions::Kind::text;
  EXPECT_EQ(parts_of(sink, 1, kMi, decode).at("open output"), 8 * kMi + 6 * kMi + 1024);
  decode.kind = DecodeOptions::Kind::json;
  EXPECT_EQ(parts_of(sink, 1, kMi, decode).at("open output"), 8 * kMi + kMi + 1024) << "as it is spelled";
}

// As long a header as a row may be, of names that have to be escaped, and a row of fields that have to be.
TEST(MemoryBound, INV7_ARowBecomesAnObjectWithTheNamesOfItsHeader) {
  constexpr std::size_t kRow = 2047;
  auto columns = std::make_shared<Columns>();
  std::string row(kRow, '\x1f');
  for (std::size_t i = 0; i < 512; ++i) {
    std::string name(3, '\0');
    for (std::size_t k = 0; k < 3; ++k) name[k] = static_cast<char>(0x0e + (i >> (3 * k)) % 8);
    columns->names.push_back(name);
    if (i != 0) row[i * 4 - 1] = ',';
  }
  CsvReader reader;
  decode::Json object;
  ASSERT_TRUE(reader.read(row, columns, object)) << reader.error().message();

  ToldSink sink;
  sink.policy.max_bytes = 1;
  sink.spec.format = EncodeFormat::raw;
  sink.spec.delimiter = "";
  DecodeOptions decode;
  decode.kind = DecodeOptions::Kind::csv;
  const std::uint64_t bound = parts_of(sink, 1, kRow, decode).at("open output") - 1;
  EXPECT_LE(object.view.size(), bound);
  EXPECT_GT(object.view.size(), bound / 4 * 3) << "and not far below";
}

TEST(MemoryBound, INV7_LookingIntoARecordTakesTables) {
  ToldSink sink;
  sink.spec.format = EncodeFormat::raw;
  DecodeOptions decode;
  EXPECT_FALSE(parts_of(sink, 2, kMi, decode).contains("decoding")) << "bytes are passed on";
  decode.kind = DecodeOptions::Kind::text;
  EXPECT_FALSE(parts_of(sink, 2, kMi, decode).contains("decoding"));
  decode.kind = DecodeOptions::Kind::json;
  EXPECT_EQ(parts_of(sink, 2, kMi, decode).at("decoding"), 2 * 8 * kMi) << "four bytes a token, and room for two";
  EXPECT_EQ(parts_of(sink, 2, 10, decode).at("decoding"), 2 * 8 * 8192U) << "they are never smaller";
  decode.framing = decode::JsonFraming::array;
  EXPECT_EQ(parts_of(sink, 1, kMi, decode).at("decoding"), 8 * kMi + 3 * 24 * (kMi / 2 + 1));
  decode.framing = decode::JsonFraming::single;
  decode.reject_duplicate_keys = true;
  EXPECT_EQ(parts_of(sink, 1, kMi, decode).at("decoding"), 8 * kMi + 3 * 32 * (209'715 + 1) + kMi);
  decode = {};
  decode.kind = DecodeOptions::Kind::csv;
  EXPECT_EQ(parts_of(sink, 1, 99, decode).at("decoding"), 3U * 24 * 100 + 3 * 12 * 100);
  sink.spec.format = EncodeFormat::json_lines;
  EXPECT_EQ(parts_of(sink, 1, kMi).at("decoding"), 8 * kMi) << "is it JSON, or to be base64?";
}

TEST(MemoryBound, INV7_WhatIsOnlyCountedHasNoBytes) {
  ToldSink sink;
  sink.spec.format = EncodeFormat::discard;
  const auto parts = parts_of(sink, 2, 64 * kMi);
  EXPECT_FALSE(parts.contains("open output"));
  EXPECT_EQ(parts.at("sealed output"), 2U * 1000 * 512);
}

TEST(MemoryBound, INV7_WithoutALimitOfBytesTheRecordsBoundAChunk) {
  ToldSink sink;
  sink.policy.max_bytes = 0;
  sink.policy.max_records = 10;
  sink.spec.delimiter = "";
  EXPECT_EQ(parts_of(sink, 1, 1000).at("open output"), 11'000U);
  EXPECT_EQ(parts_of(sink, UINT64_MAX, UINT64_MAX).at("open output"), UINT64_MAX) << "and nothing wraps around";
}

// Several open files of a lane, until what they may hold together is less.
TEST(MemoryBound, INV7_OpenFilesShareABudget) {
  ToldSink sink;
  sink.policy.max_bytes = 8 * kMi;
  sink.policy.max_open = 5;
  sink.spec.format = EncodeFormat::raw;
  sink.spec.delimiter = "";
  EXPECT_EQ(parts_of(sink, 4, kMi).at("open output"), 4 * 9 * kMi) << "one of a lane, where times do not matter";
  sink.policy.boundary = SealPolicy::Boundary::hour;
  EXPECT_EQ(parts_of(sink, 4, kMi).at("open output"), 4 * 5 * 9 * kMi);
  sink.policy.open_bytes = 200 * kMi;
  EXPECT_EQ(parts_of(sink, 4, kMi).at("open output"), 180 * kMi) << "they never get there";
  sink.policy.open_bytes = 100 * kMi;
  EXPECT_EQ(parts_of(sink, 4, kMi).at("open output"), 136 * kMi);
}

// A file of any size: what has no room is spilled, or sealed early.
TEST(MemoryBound, INV7_OfALargeFileTheBudgetIsInMemory) {
  ToldSink sink;
  sink.policy.max_bytes = std::uint64_t{5} << 40U;
  sink.policy.open_bytes = 256 * kMi;
  sink.spec.format = EncodeFormat::raw;
  sink.spec.delimiter = "";
  const auto parts = parts_of(sink, 1, kMi);
  EXPECT_EQ(parts.at("open output"), 257 * kMi);
  EXPECT_EQ(parts.at("spare output"), 2 * 257 * kMi);
  EXPECT_EQ(parts.at("sealed output"), 100 * kMi + 257 * kMi);
}

// How many partitions a group gives is not known beforehand: what lanes hold is told of one.
TEST(MemoryBound, INV7_OfLanesThatNobodyHasCountedOneIsTold) {
  ToldSink sink;
  sink.policy.max_bytes = 8 * kMi;
  sink.spec.format = EncodeFormat::raw;
  sink.spec.delimiter = "";
  const auto bound = [&sink] {
    std::map<std::string, MemoryPart> all;
    for (MemoryPart& part : memory_bound({}, {}, sink, nullptr, std::nullopt, kMi)) all[part.what] = part;
    return all;
  };
  using Each = MemoryPart::Each;
  auto parts = bound();
  EXPECT_EQ(parts.at("open output").bytes, 9 * kMi);
  EXPECT_EQ(parts.at("open output").each, Each::lane);
  EXPECT_EQ(parts.at("open output").why, "lanes x a file or chunk of 8.0 MiB and one record more, 1.0 MiB as written");
  EXPECT_EQ(parts.at("positions").bytes, 4096U * 192);
  EXPECT_EQ(parts.at("positions").each, Each::lane);
  EXPECT_EQ(parts.at("sealed output").each, Each::run);
  EXPECT_EQ(parts.at("spare output").each, Each::run);
  // A budget is of all of them, and each may go beyond it by what it has at hand.
  sink.policy.open_bytes = 100 * kMi;
  parts = bound();
  EXPECT_EQ(parts.at("open output").bytes, 100 * kMi);
  EXPECT_EQ(parts.at("open output").each, Each::run);
  EXPECT_EQ(parts.at("open output beyond").bytes, 9 * kMi);
  EXPECT_EQ(parts.at("open output beyond").each, Each::lane);
}

TEST(MemoryBound, EachPartButTheProgramHasItsStage) {
  ToldSink sink;
  sink.spec.format = EncodeFormat::rows;
  sink.policy.routed = true;
  sink.policy.max_open = 5;
  sink.policy.compression = {Codec::zstd, 3};
  sink.route.parts = {{RouteSpec::Part::From::field, "a"}};
  sink.retry.on_failure = OnWriteFailure::drop;
  ToldSink letters;
  letters.spec.format = EncodeFormat::json_lines;
  DecodeOptions decode;
  decode.kind = DecodeOptions::Kind::json;
  const auto jq = ops::TransformProgram::make({ops::JqFilter{"."}});
  ASSERT_TRUE(jq);
  std::map<std::string, std::string> stages;
  for (const MemoryPart& part : memory_bound({}, decode, sink, &letters, 4, kMi, *jq)) {
    stages[part.what] = part.stage ? name_of(*part.stage) : "";
  }
  EXPECT_EQ(stages, (std::map<std::string, std::string>{{"program", ""},
                                                        {"positions", "ack"},
                                                        {"decoding", "decode"},
                                                        {"transforms", "transforms"},
                                                        {"staged output", "encode"},
                                                        {"compressors", "seal"},
                                                        {"routing", "seal"},
                                                        {"open output", "seal"},
                                                        {"books of open files", "seal"},
                                                        {"spare output", "seal"},
                                                        {"dead letters: open output", "seal"},
                                                        {"dead letters: spare output", "seal"},
                                                        {"dead letters: files given up", "write"},
                                                        {"sealed output", "seal"},
                                                        {"files in columns", "write"},
                                                        {"writers", "write"},
                                                        {"dead letters: writers", "write"}}));
}

TEST(MemoryBound, INV7_EachLaneHasACompressor) {
  ToldSink sink;
  EXPECT_FALSE(parts_of(sink, 4, kMi).contains("compressors"));
  sink.policy.compression = {Codec::zstd, 19};
  EXPECT_EQ(parts_of(sink, 4, kMi).at("compressors"), 4 * parts_of(sink, 1, kMi).at("compressors"));
  EXPECT_GT(parts_of(sink, 1, kMi).at("compressors"), kMi);
}

TEST(MemoryBound, INV7_TransformsHoldWhatTheyMake) {
  ToldSink sink;
  sink.policy.max_bytes = 8 * kMi;
  sink.spec.format = EncodeFormat::raw;
  sink.spec.delimiter = "\n";
  DecodeOptions decode;
  decode.kind = DecodeOptions::Kind::json;
  const auto bound = [&](std::vector<ops::TransformSpec> list) {
    const auto program = ops::TransformProgram::make(std::move(list));
    std::map<std::string, std::uint64_t> all;
    for (const MemoryPart& part : memory_bound({}, decode, sink, nullptr, 3, kMi, *program))
      all[part.what] = part.bytes;
    return all;
  };
  EXPECT_FALSE(bound({}).contains("transforms"));
  const auto deleting = bound({ops::DeleteFields{{FieldPath{{"a"}}}}});
  // At least the tokens, two bytes a document byte and more, and two buffers of a document.
  EXPECT_GE(deleting.at("transforms"), 3 * (8 * kMi + 2 * kMi));
  EXPECT_FALSE(deleting.contains("staged output"));
  EXPECT_EQ(deleting.at("open output"), 3 * (8 * kMi + kMi + 1));
  // Names of the fields above may make a flat document longer: 16 times, 64 KiB and itself.
  const auto flat = bound({ops::FlattenFields{}});
  EXPECT_EQ(flat.at("open output"), 3 * (8 * kMi + 17 * kMi + 65536 + 1));
  EXPECT_GE(flat.at("transforms"), 3 * 2 * (17 * kMi));
}

}  // namespace
}  // namespace millrace
