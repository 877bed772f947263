// SPDX-License-Identifier: Apache-2.0
// What the S3 source makes of keys and of text, through reads of every small size. The expected records are written
// out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "connectors/s3/compressed_by.h"
#include "connectors/s3/source_reading.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::MemoryStore;
using millrace::testing::StoreOp;

// --- A: keys

TEST_F(Reading, A01_A03_A05_A08_A11_A16_EveryKeyIsReadAndKeptApart) {
  const Lines keys = {"in/a b.ndjson",      "in/a%20b.ndjson",     "in/x%3Ay.ndjson",
                      "in/a.ndjson",        "in//b.ndjson",        "in///c.ndjson",
                      "in/c.ndjson",        "in/trail ",           "in/\ttab",
                      "in/\xC3\xA9.ndjson", "in/e\xCC\x81.ndjson", "in/a",
                      "in/a/b.ndjson",      "in/q?v#f.ndjson",     "in/100%.ndjson",
                      "in/[x]{y}.ndjson",   "in/a&b;c,d.ndjson",   "in/dt=2026-01-01T00:00:00+02:00/p.ndjson"};
  for (std::size_t i = 0; i < keys.size(); ++i) memory->set(keys[i], fmt::format("{}\n", i));
  BackfillRig run(memory);
  run.options.lanes = 18;  // so that every key is in the manifest
  ASSERT_EQ(message_of(run.run()), "succeeded");
  const auto by_object = run.by_object();
  EXPECT_EQ(by_object.size(), keys.size());
  std::set<std::string> kept;
  for (const auto& position : stored().positions) kept.insert(position.key);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(by_object.at(keys[i]), Lines{fmt::format("{}", i)}) << keys[i];
    EXPECT_TRUE(kept.contains(keys[i])) << keys[i];
  }
}

TEST_F(Reading, A08_AKeyIsShownEscaped) {
  read("in/\ttab", "1\n", 64, [](auto& o) { o.max_record_bytes = {1}; });
  EXPECT_EQ(problem(), "succeeded");
  read("in/\ttab", "22\n", 64, [](auto& o) { o.max_record_bytes = {1}; });
  expect_problem({"s3://b/in/\\ttab"});
}

TEST_F(Reading, A15_MarkersAreSkippedAndCountedAndRealBodiesRead) {
  memory->set("in/", "");
  memory->set("in/sub/", "");
  memory->set("in/sub/a.ndjson", "1\n");
  memory->set("in/real/", "2\n");
  BackfillRig run(memory);
  ASSERT_EQ(message_of(run.run()), "succeeded");
  EXPECT_EQ(run.by_object().at("in/real/"), Lines{"2"});
  EXPECT_EQ(run.by_object().at("in/sub/a.ndjson"), Lines{"1"});
  EXPECT_EQ(run.log->count("objects=4 bytes=4 keys=4 filtered=0 markers=2 empty=0"), 1U) << run.log->all();
}

// --- C: framing, through reads of every small size

TEST_F(Reading, C02_ObjectsOfWholeChunksAndOfNone) {
  EXPECT_EQ(read("in/a", ""), Lines{});
  EXPECT_EQ(memory->count(StoreOp::read), 0U) << "no ranged GET for no bytes";
  EXPECT_EQ(read("in/a", std::string(63, 'x') + "\n" + std::string(63, 'y') + "\n"),
            (Lines{std::string(63, 'x'), std::string(63, 'y')}));
  std::uint64_t end = 0;
  for (const auto& request : memory->requests()) {
    if (request.op != StoreOp::read) continue;
    EXPECT_EQ(request.offset, end);
    EXPECT_GT(request.size, 0U);
    end = request.offset + request.size;
  }
  EXPECT_EQ(end, 128U);
}

TEST_F(Reading, C03_AnUnterminatedLastLineIsARecord) {
  EXPECT_EQ(read("in/a", "{\"n\":1}\n{\"n\":2}"), (Lines{"{\"n\":1}", "{\"n\":2}"}));
  const std::string split = gzip_of("{\"n\":1}\n{\"n\"") + gzip_of(":2}\n");
  EXPECT_EQ(read("in/a.gz", split), (Lines{"{\"n\":1}", "{\"n\":2}"}));
}

TEST_F(Reading, C04_BlankLinesAreNoRecords) {
  EXPECT_EQ(read("in/a", "{\"n\":1}\n\n{\"n\":2}\n   \n\t\n{\"n\":3}\n"),
            (Lines{"{\"n\":1}", "{\"n\":2}", "{\"n\":3}"}));
  EXPECT_EQ(rig->records.back().offset, 2);
  EXPECT_EQ(read("in/a", "\n\n\n"), Lines{});
  EXPECT_TRUE(stored().complete);
}

TEST_F(Reading, C05_LinesAroundEveryBufferSize) {
  Lines lines;
  std::string bytes;
  for (const std::size_t size : {1U, 255U, 256U, 257U, 65'535U, 65'536U, 65'537U, 1'048'576U}) {
    lines.emplace_back(size, 'x');
    bytes += lines.back() + "\n";
  }
  EXPECT_EQ(read("in/a", bytes, 256), lines);
  EXPECT_EQ(read("in/a", bytes, 65'536), lines);
  EXPECT_EQ(read("in/a.gz", gzip_of(bytes), 256), lines);
}

TEST_F(Reading, C05_ALineOverTheLimitNamesKeyLineAndLimit) {
  const std::string bytes = "1\n" + std::string(10'000'000, 'x');
  EXPECT_EQ(read("in/a", bytes, 4096, [](auto& o) { o.max_record_bytes = {1000}; }), Lines{"1"});
  expect_problem({"s3://b/in/a", "line 2", "max_record_bytes"});
  EXPECT_EQ(result.error().code(), ErrorCode::too_large);
  std::uint64_t asked = 0;
  for (const auto& request : memory->requests()) asked += request.op == StoreOp::read ? request.size : 0;
  EXPECT_LT(asked, 200'000U) << "refused before the whole line was buffered";
}

TEST_F(Reading, C06_AByteOrderMarkIsSkippedAtTheStartOnly) {
  EXPECT_EQ(read("in/a", "\xEF\xBB\xBF{\"n\":1}\n{\"n\":2}\n"), (Lines{"{\"n\":1}", "{\"n\":2}"}));
  EXPECT_EQ(read("in/a", "\xEF\xBB\xBF"), Lines{});
  EXPECT_EQ(read("in/a.gz", gzip_of("1\n") + gzip_of("\xEF\xBB\xBF"
                                                     "2\n")),
            (Lines{"1",
                   "\xEF\xBB\xBF"
                   "2"}));
}

TEST_F(Reading, C09_CrlfHoweverTheReadsCutIt) {
  const std::string bytes = "{\"n\":1}\r\n{\"a\":\"x\ry\"}\r\n{\"n\":3}\r\n";
  for (std::size_t chunk = 16; chunk <= bytes.size() + 1; ++chunk) {
    EXPECT_EQ(read("in/a", bytes, chunk), (Lines{"{\"n\":1}", "{\"a\":\"x\ry\"}", "{\"n\":3}"})) << chunk;
  }
}

TEST_F(Reading, G02_BytesPassUntouched) {
  std::string bytes;
  Lines lines;
  for (int i = 0; i < 3000; ++i) {
    std::string line = fmt::format("{}{}", i % 3 == 0 ? "  \t" : i % 3 == 1 ? "\f" : "", i);
    line += std::string("\0\xFF\xED\xA0\x80 \t", 7);
    lines.push_back(line);
    bytes += line + "\n";
  }
  EXPECT_EQ(read("in/a", bytes, 100), lines);
}

}  // namespace
}  // namespace millrace::s3_source
