// SPDX-License-Identifier: Apache-2.0
// Goal: section D of the fault rows for every codec: what a program compressed comes back record by record, and what is
// cut, damaged, padded or named wrongly is told with its key. Method: objects made by each codec's own program.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "connectors/s3/compressed_by.h"
#include "connectors/s3/source_reading.h"

namespace millrace::s3_source {
namespace {

using millrace::testing::MemoryStore;

class Compressed : public Reading {
 protected:
  Lines read_encoded(const std::string& name, std::string bytes, const std::string& content_encoding) {
    return read(name, std::move(bytes), 65536, {}, content_encoding);
  }
};

Lines numbered(int count) {
  Lines lines;
  for (int i = 0; i < count; ++i) lines.push_back(fmt::format(R"({{"n":{},"x":{}}})", i, i * 7919 % 10'007));
  return lines;
}
std::string text_of(const Lines& lines, std::size_t from, std::size_t to) {
  std::string text;
  for (std::size_t i = from; i < to; ++i) text += lines[i] + "\n";
  return text;
}

TEST_F(Compressed, EveryCodecByNameByHeaderAndBySetting) {
  const Lines lines = numbered(20'000);
  const std::string text = text_of(lines, 0, lines.size());
  const std::array settings{ObjectCodec::gzip, ObjectCodec::zstd, ObjectCodec::bz2, ObjectCodec::xz, ObjectCodec::lz4};
  for (const Compressor& by : compressors()) {
    const std::string bytes = by.of(text);
    for (const std::size_t chunk : {1000U, 1U << 20U}) {
      EXPECT_TRUE(read("in/a" + by.ending, bytes, chunk) == lines) << by.ending << ' ' << problem();
    }
    EXPECT_TRUE(read_encoded("in/a", bytes, by.token) == lines) << by.token << ' ' << problem();
    const auto all = [&](auto& o) { o.compression = settings.at(static_cast<std::size_t>(by.codec) - 1); };
    EXPECT_TRUE(read("in/part-0001", bytes, 65536, all) == lines) << by.ending << ' ' << problem();
    EXPECT_EQ(rig->metric("etl_s3_source_bytes_decoded_total"), static_cast<double>(text.size()));
  }
}

TEST_F(Compressed, CodecsMayAlternateWithinALane) {
  const auto all = compressors();
  for (std::size_t i = 0; i < 4 * all.size(); ++i) {
    const Compressor& by = all[i % all.size()];
    memory->set(fmt::format("in/{:02}{}", i, by.ending), by.of(fmt::format("{}\n", i)));
  }
  BackfillRig run(memory);
  run.options.lanes = 1;
  ASSERT_EQ(message_of(run.run()), "succeeded");
  ASSERT_EQ(run.records.size(), 4 * all.size());
  for (std::size_t i = 0; i < run.records.size(); ++i) EXPECT_EQ(run.records[i].bytes, fmt::format("{}", i));
}

TEST_F(Compressed, D01_EveryMemberStreamAndFrame) {
  const Lines lines = numbered(12);
  for (const Compressor& by : compressors()) {
    // Four in a row, an empty one among them; a line begins in the second and ends in the third.
    const std::string text = text_of(lines, 0, lines.size());
    const std::size_t cut = text_of(lines, 0, 7).size() + 3;
    const std::string bytes =
        by.of(text.substr(0, 30)) + by.of(text.substr(30, cut - 30)) + by.of("") + by.of(text.substr(cut));
    EXPECT_EQ(read("in/m" + by.ending, bytes), lines) << by.ending << ' ' << problem();
  }
}

TEST_F(Compressed, D01_KilledInTheSecondStreamResumeGivesTheRest) {
  const Lines lines = numbered(6);
  for (const Compressor& by : compressors()) {
    memory = std::make_shared<MemoryStore>();
    memory->set("in/m" + by.ending,
                by.of(text_of(lines, 0, 2)) + by.of(text_of(lines, 2, 4)) + by.of(text_of(lines, 4, 6)));
    ASSERT_TRUE(BackfillRig(memory).commit_and_die(3));
    BackfillRig second(memory);
    second.options.lanes = 1;
    second.flags.take_over = true;
    ASSERT_EQ(message_of(second.run()), "succeeded");
    ASSERT_EQ(second.records.size(), 3U) << by.ending;
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(second.records[i].bytes, lines[i + 3]) << by.ending;
  }
}

TEST_F(Compressed, D04_ABeginningIsNotAWholeStream) {
  for (const Compressor& by : compressors()) {
    const std::string whole = by.of("1\n2\n");
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{5}, std::size_t{10}, std::size_t{12}, whole.size() - 1}) {
      read("in/a" + by.ending, whole.substr(0, size));
      expect_problem({"s3://b/in/a" + by.ending, "truncated", fmt::format("after {} bytes", size)});
    }
    EXPECT_EQ(read("in/a" + by.ending, ""), Lines{});
    EXPECT_EQ(problem(), "succeeded");
  }
}

TEST_F(Compressed, D05_APoisonObjectStopsTheRunTheSameWayEachTime) {
  const Lines lines = numbered(5000);
  for (const Compressor& by : compressors()) {
    memory = std::make_shared<MemoryStore>();
    const std::string whole = by.of(text_of(lines, 0, lines.size()));
    std::string damaged = whole;
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x10);
    for (const std::string& poison : {whole.substr(0, whole.size() / 2), damaged}) {
      for (int i = 0; i < 3; ++i) memory->set(fmt::format("in/o{}{}", i, by.ending), i == 1 ? poison : whole);
      std::string first_problem;
      for (int attempt = 0; attempt < 3; ++attempt) {
        BackfillRig run(memory);
        run.options.lanes = 1;
        run.flags.reset = attempt == 0;
        const auto ended = run.run();
        ASSERT_FALSE(ended) << by.ending;
        for (const std::string& part : {"s3://b/in/o1" + by.ending, std::string("byte")}) {
          EXPECT_NE(message_of(ended).find(part), std::string::npos) << message_of(ended);
        }
        ASSERT_TRUE(run.commit());
        EXPECT_FALSE(stored().complete);
        if (attempt == 0) {
          first_problem = message_of(ended);
          ASSERT_GE(run.records.size(), lines.size()) << "the object before is whole";
        }
        EXPECT_EQ(message_of(ended), first_problem);
        run.close();
      }
    }
  }
}

TEST_F(Compressed, D06_NoLieBecomesRecords) {
  const std::string plain = text_of(numbered(3), 0, 3);
  const auto all = compressors();
  for (const Compressor& named : all) {
    EXPECT_EQ(read("in/a" + named.ending, plain), Lines{});
    expect_problem({"s3://b/in/a" + named.ending, "its name ends like", "set compression: none"});
    EXPECT_EQ(read_encoded("in/a", plain, named.token), Lines{});
    expect_problem({"s3://b/in/a'", "its Content-Encoding says", "without that header"});
    const std::string bytes = named.of(plain);
    EXPECT_EQ(read("in/part-0001", bytes), Lines{});
    expect_problem({"s3://b/in/part-0001", "its bytes begin like", "under a name that ends in " + named.ending});
    EXPECT_EQ(read_encoded("in/a" + named.ending, bytes, named.token).size(), 3U) << "said twice, done once";
    EXPECT_EQ(read_encoded("in/a" + named.ending, named.of(bytes), named.token), Lines{});
    expect_problem({"s3://b/in/a" + named.ending, "compressed twice", "one layer less"});
    for (const Compressor& other : all) {
      if (other.codec == named.codec) continue;
      EXPECT_EQ(read("in/a" + named.ending, other.of(plain)), Lines{});
      expect_problem({"s3://b/in/a" + named.ending, "they begin like", "under a name that ends in " + other.ending});
      EXPECT_EQ(read_encoded("in/a", other.of(plain), named.token), Lines{});
      expect_problem({"s3://b/in/a'", "they begin like", "put the header right"});
      EXPECT_EQ(read("in/a" + named.ending, named.of(other.of(plain))), Lines{});
      expect_problem({"s3://b/in/a" + named.ending, "compressed twice"});
    }
  }
}

TEST_F(Compressed, D09_UnknownTokensAreRefusedUnlessTheSettingDecides) {
  EXPECT_EQ(read_encoded("in/a", "1\n", "br"), Lines{});
  expect_problem({"s3://b/in/a", "'br'", "Set compression"});
  EXPECT_EQ(read_encoded("in/a", "1\n", "gzip, br"), Lines{});
  expect_problem({"s3://b/in/a", "'br' on top of another one"});
  EXPECT_EQ(read("in/a", "1\n", 64, [](auto& o) { o.compression = ObjectCodec::none; }, "br"), Lines{"1"});
  EXPECT_EQ(read_encoded("in/a", "1\n", "aws-chunked, identity"), Lines{"1"});
  for (const Compressor& by : compressors()) {
    EXPECT_EQ(read_encoded("in/a", by.of("1\n"), "aws-chunked," + by.token), Lines{"1"}) << problem();
  }
}

TEST_F(Compressed, D11_MemoryOverTheLimitNamesKeyNeedAndOption) {
  if (!codec_is_built(Codec::xz)) return;
  const std::string bytes = output_of("xz -9 -c", "1\n2\n");  // its dictionary is one of 64 MiB
  EXPECT_EQ(read("in/a.xz", bytes, 64, [](auto& o) { o.xz_memory_limit = {16U << 20U}; }), Lines{});
  expect_problem({"s3://b/in/a.xz", "needs 65 MiB", "xz_memory_limit: 16MiB", "xz_memory_limit: 65MiB"});
  EXPECT_EQ(read("in/a.xz", bytes, 64, [](auto& o) { o.xz_memory_limit = {65U << 20U}; }), (Lines{"1", "2"}));
}

TEST_F(Compressed, D12_WhatFollowsTheCompressedStream) {
  for (const Compressor& by : compressors()) {
    EXPECT_EQ(read("in/a" + by.ending, by.of("1\n2\n") + std::string(512, '\0')), (Lines{"1", "2"})) << problem();
    EXPECT_EQ(problem(), "succeeded");
    EXPECT_EQ(rig->log->count("zeros=512"), 1U) << rig->log->all();
    EXPECT_EQ(read("in/a" + by.ending, by.of("1\n2\n") + "garbage"), (Lines{"1", "2"})) << "not lost silently";
    expect_problem({"s3://b/in/a" + by.ending, "corrupt"});
  }
}

}  // namespace
}  // namespace millrace::s3_source
