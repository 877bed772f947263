// SPDX-License-Identifier: Apache-2.0
// What the S3 source makes of the bytes it is given: keys, text, compression, broken transfers. Compressed input comes
// from the gzip and zstd programs; the expected records are written out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "connectors/s3/compressed_by.h"
#include "connectors/s3/source_fixture.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::Fault;
using millrace::testing::MemoryStore;
using millrace::testing::StoreOp;
using Lines = std::vector<std::string>;

class Reading : public SourceTest {
 protected:
  /// The records of one object, read by one lane in reads of `chunk` bytes.
  Lines read(const std::string& name, std::string bytes, std::size_t chunk = 64,
             const std::function<void(S3SourceOptions&)>& change = {}) {
    memory = std::make_shared<MemoryStore>();
    memory->set(name, std::move(bytes));
    rig = std::make_unique<BackfillRig>(memory);
    rig->options.lanes = 1;
    rig->options.chunk_bytes = {chunk};
    rig->options.prefetch_bytes = {4 * chunk};
    if (change) change(rig->options);
    result = rig->run();
    Lines lines;
    for (const Record& record : rig->records) lines.push_back(record.bytes);
    return lines;
  }
  std::string problem() { return message_of(result); }
  void expect_problem(const std::vector<std::string>& parts) {
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().is_fatal());
    for (const auto& part : parts) EXPECT_NE(problem().find(part), std::string::npos) << part << " in " << problem();
    EXPECT_FALSE(stored().complete);
  }
  std::unique_ptr<BackfillRig> rig;
  Result<void> result;
};

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

// --- D: compression

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
  BackfillRig first(memory);
  first.options.lanes = 1;
  first.max_records = 1;
  ASSERT_TRUE(first.open());
  ASSERT_TRUE(first.poll_records(3));
  ASSERT_TRUE(first.commit());
  first.kill();
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

// --- F: objects that change

TEST_F(Reading, F01_AnOverwriteDuringTheReadNeverMixesVersions) {
  std::string v1;
  std::string v2;
  for (int i = 0; i < 2000; ++i) {
    v1 += "{\"v\":1}\n";
    v2 += "{\"v\":2}\n";
  }
  memory->set("in/a", v1);
  BackfillRig run(memory);
  run.options.lanes = 1;
  run.options.chunk_bytes = {1000};
  run.options.prefetch_bytes = {2000};
  run.store->add({.op = StoreOp::read, .nth = 5, .before = [&] { memory->set("in/a", v2); }});
  const auto ended = run.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), ErrorCode::drift);
  const std::string now = memory->list({.prefix = "in/a"})->objects[0].etag.value;
  EXPECT_NE(message_of(ended).find("s3://b/in/a"), std::string::npos);
  EXPECT_NE(message_of(ended).find("is " + now + " now"), std::string::npos) << message_of(ended);
  EXPECT_FALSE(run.records.empty());
  for (const Record& record : run.records) EXPECT_EQ(record.bytes, "{\"v\":1}");
  EXPECT_EQ(run.store->hits(), 1U) << "not retried";
}

TEST_F(Reading, F05_AnObjectThatIsGoneIsNamedAndNotRetried) {
  fill(3);
  BackfillRig run(memory);
  run.options.lanes = 1;
  run.store->add({.op = StoreOp::read, .key = key(1), .before = [&] { memory->erase(key(1)); }});
  const auto ended = run.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), ErrorCode::drift);
  EXPECT_NE(message_of(ended).find("'s3://b/" + key(1) + "' was deleted after it was listed"), std::string::npos)
      << message_of(ended);
  EXPECT_EQ(run.by_object().size(), 1U) << "what came before is intact";
  EXPECT_EQ(run.metric("etl_s3_source_get_retries_total"), 0);
}

TEST_F(Reading, AChangedSizeIsDrift) {
  memory->set("in/a", "1\n", {.listed_size = 100});
  BackfillRig run(memory);
  const auto ended = run.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), ErrorCode::drift);
}

// --- G: transfers that break

TEST_F(Reading, G01_AShortBodyIsReadOnFromTheLastByte) {
  std::string bytes;
  Lines lines;
  for (int i = 0; i < 1000; ++i) {
    lines.push_back(fmt::format("{{\"n\":{:06}}}", i));
    bytes += lines.back() + "\n";
  }
  for (const std::size_t at : {0UL, 1UL, 13UL, 14UL, 15UL, 600UL, bytes.size() - 1}) {  // 14: right behind a newline
    memory = std::make_shared<MemoryStore>();
    memory->set("in/a", bytes);
    BackfillRig run(memory);
    run.store->add({.op = StoreOp::read, .short_after = at});
    ASSERT_EQ(message_of(run.run()), "succeeded") << at;
    Lines got;
    for (const Record& record : run.records) got.push_back(record.bytes);
    EXPECT_EQ(got, lines) << at;
    std::vector<std::uint64_t> offsets;
    for (const auto& request : memory->requests()) {
      if (request.op != StoreOp::read) continue;
      EXPECT_TRUE(request.pinned);
      offsets.push_back(request.offset);
    }
    EXPECT_EQ(offsets.back(), at);
    EXPECT_EQ(run.metric("etl_s3_source_get_retries_total"), 1);
  }
}

TEST_F(Reading, G04_ResetsWithProgressDoNotUseUpTheTries) {
  std::string bytes;
  for (int i = 0; i < 100'000; ++i) bytes += fmt::format("{:09}\n", i);
  memory->set("in/a", bytes);
  BackfillRig run(memory);
  run.retry.tries = 3;
  for (std::uint64_t reset = 1; reset <= 5; ++reset) {
    run.store->add({.op = StoreOp::read, .nth = reset, .short_after = 50'000});
  }
  ASSERT_EQ(message_of(run.run()), "succeeded");
  ASSERT_EQ(run.records.size(), 100'000U);
  for (std::size_t i = 0; i < run.records.size(); ++i) {
    ASSERT_EQ(run.records[i].bytes, fmt::format("{:09}", i));
    ASSERT_EQ(run.records[i].offset, static_cast<std::int64_t>(i));
  }
  EXPECT_EQ(run.metric("etl_s3_source_get_retries_total"), 5);
  EXPECT_EQ(run.metric("etl_s3_source_bytes_read_total"), 1'000'000) << "nothing was fetched twice";
  EXPECT_EQ(run.log->count("warn a read failed and is tried again"), 1U) << "the first of its kind";
}

TEST_F(Reading, EightTriesInARowWithoutAByteAreFatal) {
  fill(2);
  BackfillRig run(memory);
  run.options.lanes = 1;
  run.store->add({.op = StoreOp::read,
                  .key = key(1),
                  .times = Fault::kAlways,
                  .error = Error::retryable(ErrorCode::interrupted_transfer, "reset by peer")});
  const auto ended = run.run();
  ASSERT_FALSE(ended);
  EXPECT_TRUE(ended.error().is_fatal());
  EXPECT_EQ(run.store->hits(), 8U);
  EXPECT_NE(message_of(ended).find("8 tries in a row"), std::string::npos) << message_of(ended);
  EXPECT_NE(message_of(ended).find("s3://b/" + key(1)), std::string::npos);
  EXPECT_EQ(run.records.size(), 3U);
}

TEST_F(Reading, AccessDeniedIsFatalAtOnce) {
  fill(1);
  BackfillRig run(memory);
  run.store->add({.op = StoreOp::read,
                  .times = Fault::kAlways,
                  .error = Error::fatal(ErrorCode::permission_denied, "403 AccessDenied")});
  const auto ended = run.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(run.store->hits(), 1U);
  EXPECT_NE(message_of(ended).find("AccessDenied"), std::string::npos);
}

TEST_F(Reading, G06_AStalledReadDoesNotHoldUpTheEnd) {
  fill(1);
  BackfillRig run(memory);
  run.store->add({.op = StoreOp::read, .hang = true});
  ASSERT_TRUE(run.open());
  while (run.store->hanging() == 0) {
  }
  const auto polled = run.lanes[0]->poll(10, Duration(0));
  ASSERT_TRUE(polled);
  EXPECT_TRUE(std::holds_alternative<Idle>(*polled));
  run.close();
  EXPECT_EQ(run.store->hanging(), 0U);
  EXPECT_TRUE(stored().owner.released);
}

TEST_F(Reading, B10_WithoutAnETagABrokenReadBeginsAgain) {
  memory = std::make_shared<MemoryStore>(MemoryStore::Options{.etags = MemoryStore::Tags::none});
  memory->set("in/a", "1\n2\n3\n");
  BackfillRig run(memory);
  run.store->add({.op = StoreOp::read, .short_after = 3});
  ASSERT_EQ(message_of(run.run()), "succeeded");
  EXPECT_EQ(run.records.size(), 3U);
  EXPECT_EQ(memory->requests().back().op == StoreOp::read ? memory->requests().back().offset : 0, 0U);
}

TEST_F(Reading, G09_FilesAreClosedHoweverTheirReadsEnd) {
  std::string pattern = (std::filesystem::temp_directory_path() / "millrace-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  std::filesystem::create_directories(folder / "in");
  for (int i = 0; i < 500; ++i) std::ofstream(folder / "in" / fmt::format("o{:03}", i)) << i << "\n";
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = descriptors();
  for (int round = 0; round < 3; ++round) {
    S3SourceOptions options;
    options.url = "file://" + (folder / "in").string() + "/";
    options.checkpoint.url = "file://" + (folder / "ck.json").string();
    auto settings = settle(options);
    ASSERT_TRUE(settings) << settings.error().message();
    auto store = open_store(settings->url, settings->store, {});
    ASSERT_TRUE(store);
    BackfillRig run(*store);
    run.options = options;
    run.flags.reset = true;
    run.flags.take_over = true;
    // A hundred that end early: gone, or broken off.
    for (int i = 0; i < 50; ++i)
      run.store->add({.op = StoreOp::read, .nth = static_cast<std::uint64_t>(3 * i + 1), .short_after = 1});
    if (round == 1) {
      run.store->add({.op = StoreOp::read,
                      .key = "o400",
                      .times = Fault::kAlways,
                      .error = Error::fatal(ErrorCode::not_found, "404")});
    }
    EXPECT_EQ(run.run().has_value(), round != 1);
    run.close();
  }
  std::filesystem::remove_all(folder);
  EXPECT_LE(descriptors(), before);
}

}  // namespace
}  // namespace millrace::s3_source
