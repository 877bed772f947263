// SPDX-License-Identifier: Apache-2.0
// What the S3 source makes of compressed objects. Their bytes come from the gzip and zstd programs; the expected
// records are written out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "connectors/s3/compressed_by.h"
#include "connectors/s3/source_reading.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::MemoryStore;

TEST_F(Reading, D01_EveryMemberAndEveryFrame) {
  const Lines six = {"1", "2", "3", "4", "5", "6"};
  EXPECT_EQ(read("in/m.gz", gzip_of("1\n2\n") + gzip_of("3\n4\n") + gzip_of("5\n6\n")), six);
  EXPECT_EQ(read("in/m.gz", gzip_of("1\n2\n") + gzip_of("") + gzip_of("3\n4\n") + gzip_of("5\n6\n")), six);
  const std::string skippable("\x53\x2a\x4d\x18\x03\0\0\0abc", 11);
  EXPECT_EQ(read("in/m.zst", zstd_of("1\n2\n3\n") + skippable + zstd_of("4\n5\n6\n")), six);
  const std::string one = gzip_of("line\n");
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += one;
  EXPECT_EQ(read("in/m.gz", many, 4096).size(), 10'000U);
}

TEST_F(Reading, D01_KilledInTheSecondMemberResumeGivesTheRest) {
  memory->set("in/m.gz", gzip_of("1\n2\n") + gzip_of("3\n4\n") + gzip_of("5\n6\n"));
  ASSERT_TRUE(BackfillRig(memory).commit_and_die(3));
  BackfillRig second(memory);
  second.options.lanes = 1;
  second.flags.take_over = true;
  ASSERT_EQ(message_of(second.run()), "succeeded");
  EXPECT_EQ(second.records,
            (std::vector<Record>{{0, 3, "4", "in/m.gz"}, {0, 4, "5", "in/m.gz"}, {0, 5, "6", "in/m.gz"}}));
}

TEST_F(Reading, D04_ABeginningIsNotAWholeStream) {
  for (const bool gzip : {true, false}) {
    const std::string whole = gzip ? gzip_of("1\n2\n") : zstd_of("1\n2\n");
    const std::string name = gzip ? "in/a.gz" : "in/a.zst";
    for (const std::size_t size : {1U, 5U, 10U, 12U}) {
      read(name, whole.substr(0, size));
      expect_problem({"s3://b/" + name});
      // What stands in front of the cut may come through; what is cut does not, and nothing is complete.
      EXPECT_LE(rig->records.size(), size < 12 ? 0U : 1U);
    }
    EXPECT_EQ(read(name, ""), Lines{});
    EXPECT_EQ(problem(), "succeeded");
  }
}

TEST_F(Reading, D05_APoisonObjectStopsTheRunTheSameWayEachTime) {
  std::string big;
  for (int i = 0; i < 5000; ++i) big += fmt::format("{{\"n\":{},\"x\":{}}}\n", i, i * 7919 % 1000);
  const std::string whole = gzip_of(big);
  for (int i = 0; i < 6; ++i)
    memory->set(fmt::format("in/o{}.ndjson.gz", i), i == 2 ? whole.substr(0, whole.size() / 2) : whole);
  std::string first_problem;
  for (int attempt = 0; attempt < 3; ++attempt) {
    BackfillRig run(memory);
    run.options.lanes = 1;
    const auto ended = run.run();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code(), ErrorCode::truncated);
    EXPECT_NE(message_of(ended).find("s3://b/in/o2.ndjson.gz"), std::string::npos) << message_of(ended);
    EXPECT_NE(message_of(ended).find("byte"), std::string::npos);
    if (attempt == 0) first_problem = message_of(ended);
    EXPECT_EQ(message_of(ended), first_problem);
    ASSERT_TRUE(run.commit());
    EXPECT_FALSE(stored().complete);
    EXPECT_TRUE(attempt == 0 || run.records.size() < 5000U) << "what was committed is not read again";
  }
}

TEST_F(Reading, D06_CompressedBytesAreNeverRecords) {
  for (const char* name : {"in/part-0001", "in/part-0002.json"}) {
    EXPECT_EQ(read(name, gzip_of("1\n2\n")), Lines{});
    expect_problem({name, "compression: gzip"});
  }
  EXPECT_EQ(read("in/a.gz", gzip_of(gzip_of("1\n"))), Lines{});
  expect_problem({"in/a.gz", "compressed twice"});
  EXPECT_EQ(read("in/a.gz", "{\"n\":1}\n"), Lines{});
  expect_problem({"in/a.gz", "its bytes are not gzip"});
  EXPECT_EQ(read("in/part-0001", gzip_of("1\n2\n"), 64, [](auto& o) { o.compression = ObjectCodec::gzip; }),
            (Lines{"1", "2"}));
}

TEST_F(Reading, D09_ContentEncodingIsUndoneOnce) {
  const auto with = [&](const std::string& name, std::string bytes, const std::string& encoding) {
    memory = std::make_shared<MemoryStore>();
    memory->set(name, std::move(bytes), {.content_encoding = encoding});
    BackfillRig run(memory);
    result = run.run();
    EXPECT_EQ(problem(), "succeeded");
    Lines lines;
    for (const Record& record : run.records) lines.push_back(record.bytes);
    return lines;
  };
  EXPECT_EQ(with("in/a.ndjson", "1\n", "aws-chunked"), Lines{"1"});
  EXPECT_EQ(with("in/a.ndjson", gzip_of("1\n"), "aws-chunked,gzip"), Lines{"1"});
  EXPECT_EQ(with("in/a.ndjson.gz", gzip_of("1\n"), "gzip"), Lines{"1"});
}

TEST_F(Reading, D12_WhatFollowsTheCompressedStream) {
  EXPECT_EQ(read("in/a.gz", gzip_of("1\n2\n") + std::string(512, '\0')), (Lines{"1", "2"}));
  EXPECT_EQ(problem(), "succeeded");
  EXPECT_EQ(rig->log->count("zero bytes follow the compressed data"), 1U);
  EXPECT_EQ(rig->log->count("zeros=512"), 1U) << rig->log->all();
  EXPECT_EQ(read("in/a.gz", gzip_of("1\n2\n") + "garbage"), (Lines{"1", "2"})) << "not lost silently";
  expect_problem({"in/a.gz"});
}

}  // namespace
}  // namespace millrace::s3_source
