// SPDX-License-Identifier: Apache-2.0
// Goal: a compressed object gives the frames of its plain one, whatever the chunks, and damage never swallows or halves
// a record. Method: files made by the gzip and zstd programs (src/codec/make_test_data.py), and random lines packed by
// zlib and libzstd, against the line model.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <zstd.h>

#include <algorithm>

#include "codec/stream_testing.h"
#include "formats/ndjson/framer.h"
#include "formats/ndjson/line_model.h"
#include "millrace/framing/frame_reader.h"

namespace millrace {
namespace {

using ndjson::Framed;
using ndjson::make_ndjson_framer;
using ndjson::model_of_lines;
using Status = FrameReader::Status;

std::string data(const std::string& name) {
  return codec::file_bytes(std::filesystem::path(MILLRACE_CODEC_TEST_DATA) / name);
}

struct Outcome {
  std::vector<std::string> records;
  std::optional<Error> error;
};

Outcome read(FrameReader& reader, Decompressor& decompressor, const std::string& bytes, std::size_t chunk_bytes,
             std::size_t max_frames = 4096) {
  Outcome outcome;
  Frames frames;
  std::size_t at = 0;
  reader.start(&decompressor);
  for (;;) {
    const auto status = reader.next(max_frames, frames);
    if (!status) {
      outcome.error = status.error();
      return outcome;
    }
    for (const std::string_view frame : frames) outcome.records.emplace_back(frame);
    if (*status == Status::end) return outcome;
    if (*status != Status::needs_chunk) continue;
    if (at == bytes.size()) {
      reader.push_end();
      continue;
    }
    const std::size_t size = std::min(chunk_bytes, bytes.size() - at);
    ByteChunk chunk = ByteChunk::allocate(size);
    bytes.copy(chunk.data(), size, at);
    chunk.set_size(size);
    at += size;
    reader.push(std::move(chunk));
  }
}

std::vector<std::string> lines_of(const std::string& name) { return model_of_lines(data(name), 1U << 20U).records; }

struct Lane {
  explicit Lane(std::size_t window_bytes = 256U << 10U, std::size_t max_record_bytes = 1U << 20U)
      : reader(make_ndjson_framer({.max_record_bytes = max_record_bytes}), {.window_bytes = window_bytes}) {}
  Outcome read(const std::string& name, const std::string& bytes, std::size_t chunk_bytes = 512U << 10U,
               std::size_t max_frames = 4096) {
    return millrace::read(reader, codec_of_key(name) == Codec::gzip ? *gzip : *zstd, bytes, chunk_bytes, max_frames);
  }
  FrameReader reader;
  std::unique_ptr<Decompressor> gzip = make_decompressor(Codec::gzip, {});
  std::unique_ptr<Decompressor> zstd = make_decompressor(Codec::zstd, {});
};

TEST(DecodedFrames, WhatTheProgramsPackedComesOutLineByLine) {
  for (const std::string name : {"lines.gz", "lines.two.gz", "lines.stored.gz", "lines.zst", "lines.two.zst"}) {
    for (const std::size_t window : {std::size_t{500}, std::size_t{256} << 10U}) {
      for (const std::size_t chunk : {std::size_t{4099}, std::size_t{512} << 10U}) {
        Lane lane(window);
        const Outcome outcome = lane.read(name, data(name), chunk);
        EXPECT_FALSE(outcome.error) << name << ": " << outcome.error->message();
        EXPECT_TRUE(outcome.records == lines_of("lines")) << name << ' ' << window << ' ' << chunk;
        EXPECT_EQ(lane.reader.stored_bytes(), data(name).size());
        EXPECT_EQ(lane.reader.decoded_bytes(), data("lines").size());
      }
    }
  }
}

TEST(DecodedFrames, C01_AnEmptyCompressedObjectHasNoRecordsAndTheNextOneIsRead) {
  Lane lane;
  for (const std::string name : {"short.gz", "short.zst"}) {
    EXPECT_EQ(lane.read(name, data(name)).records, lines_of("short"));
    const Outcome empty = lane.read(name, "");
    EXPECT_FALSE(empty.error);
    EXPECT_TRUE(empty.records.empty());
    EXPECT_EQ(lane.read(name, data(name)).records, lines_of("short"));
  }
}

TEST(DecodedFrames, C03_ALineAcrossMembersIsJoined) {
  Lane lane;
  for (const std::string name : {"short.midline.gz", "short.midline.zst"}) {
    for (const std::size_t chunk : {1, 7, 100000}) {
      EXPECT_EQ(lane.read(name, data(name), chunk).records, lines_of("short")) << name;
    }
  }
}

TEST(DecodedFrames, C06_ABomAtTheStartOfTheSecondMemberIsData) {
  // Stored members made by hand would say nothing new: zstd packs each part by itself.
  const auto packed = [](const std::string& plain) {
    std::string out(ZSTD_compressBound(plain.size()), '\0');
    out.resize(ZSTD_compress(out.data(), out.size(), plain.data(), plain.size(), 1));
    return out;
  };
  Lane lane;
  const Outcome outcome = lane.read(".zst", packed("\xEF\xBB\xBF{\"n\":1}\n") + packed("\xEF\xBB\xBF{\"n\":2}\n"));
  EXPECT_EQ(outcome.records, (std::vector<std::string>{"{\"n\":1}", "\xEF\xBB\xBF{\"n\":2}"}));
}

TEST(DecodedFrames, D01_TenThousandMembersOfOneLine) {
  Lane lane;
  const Outcome outcome = lane.read(".gz", data("tiny.members.gz"));
  EXPECT_FALSE(outcome.error);
  EXPECT_EQ(outcome.records.size(), 10'000U);
  EXPECT_TRUE(outcome.records == lines_of("tiny"));
}

TEST(DecodedFrames, D04_ATruncatedStreamGivesItsWholeRecordsAndNoHalfOne) {
  Lane lane;
  for (const std::string name : {"lines.gz", "lines.zst"}) {
    const std::string bytes = data(name);
    const auto all = lines_of("lines");
    const Outcome half = lane.read(name, bytes.substr(0, bytes.size() / 2), 4096);
    ASSERT_TRUE(half.error);
    EXPECT_EQ(half.error->code(), ErrorCode::truncated);
    EXPECT_FALSE(half.records.empty());
    ASSERT_LT(half.records.size(), all.size());
    EXPECT_TRUE(std::equal(half.records.begin(), half.records.end(), all.begin()));
    // Where: the stored byte, the decoded byte at which the record under way begins, and its line.
    std::size_t whole_bytes = 0;
    for (const auto& record : half.records) whole_bytes += record.size() + 1;
    const std::string& message = half.error->message();
    EXPECT_NE(message.find("ends after " + std::to_string(bytes.size() / 2) + " bytes"), std::string::npos) << message;
    EXPECT_TRUE(message.ends_with(" (decoded byte " + std::to_string(whole_bytes) + ", line " +
                                  std::to_string(half.records.size() + 1) + ")"))
        << message;
  }
}

TEST(DecodedFrames, D12_GarbageBehindTheStreamFailsAfterItsRecordsAndZerosAreCounted) {
  Lane lane;
  for (const std::string name : {"short.gz", "short.zst"}) {
    const Outcome garbage = lane.read(name, data(name) + "garbage");
    ASSERT_TRUE(garbage.error);
    EXPECT_EQ(garbage.error->code(), ErrorCode::corrupt);
    EXPECT_EQ(garbage.records, lines_of("short"));
    const Outcome padded = lane.read(name, data(name) + std::string(512, '\0'));
    EXPECT_FALSE(padded.error);
    EXPECT_EQ(padded.records, lines_of("short"));
    EXPECT_EQ(lane.reader.trailing_zeros(), 512U);
  }
}

TEST(DecodedFrames, C05_ALineLargerThanTheWindowGrowsItForAWhile) {
  const std::string line(300'000, 'x');
  std::string plain = "a\n" + line + "\nb\n" + line.substr(0, 5000) + "\n";
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), 1));
  Lane lane(4096, 300'000);
  EXPECT_TRUE(lane.read(".zst", packed, 10).records == model_of_lines(plain, 300'000).records);
  Lane tight(4096, 299'999);
  const Outcome refused = tight.read(".zst", packed, 10);
  ASSERT_TRUE(refused.error);
  EXPECT_EQ(refused.error->code(), ErrorCode::too_large);
  EXPECT_EQ(refused.records, std::vector<std::string>{"a"});
}

TEST(DecodedFrames, RandomLinesPackedAtRandomComeBack) {
  EXPECT_TRUE(rc::check("random lines, frames, chunks and windows", [] {
    std::string plain;
    std::string packed;
    const auto parts = *rc::gen::inRange(0, 6);
    for (int part = 0; part < parts; ++part) {
      std::string text;
      const auto lengths = *rc::gen::container<std::vector<std::size_t>>(
          rc::gen::oneOf(rc::gen::inRange<std::size_t>(0, 200), rc::gen::inRange<std::size_t>(0, 5000)));
      for (const std::size_t length : lengths) {
        text +=
            std::string(length, *rc::gen::element('x', ' ', '\0')) + *rc::gen::element<std::string>("\n", "\r\n", "");
      }
      std::string frame(ZSTD_compressBound(text.size()), '\0');
      frame.resize(ZSTD_compress(frame.data(), frame.size(), text.data(), text.size(), 1));
      plain += text;
      packed += frame;
    }
    const auto chunk = *rc::gen::element<std::size_t>(1, 13, 1000, 100000);
    const auto window = *rc::gen::element<std::size_t>(1, 64, 4096, 262144);
    const auto max_frames = *rc::gen::element<std::size_t>(1, 3, 4096);
    Lane lane(window);
    const Outcome outcome = lane.read(".zst", packed, chunk, max_frames);
    RC_ASSERT(!outcome.error);
    RC_ASSERT(outcome.records == model_of_lines(plain, 1U << 20U).records);
  }));
}

}  // namespace
}  // namespace millrace
