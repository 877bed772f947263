// SPDX-License-Identifier: Apache-2.0
// Goal: whatever chunks an object comes in, the same frames come out, each copied as little as promised. Method: random
// objects, chunk sizes, headrooms and window sizes against the line model; pointer identity for the copies.
#include "millrace/framing/frame_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "formats/ndjson/framer.h"
#include "formats/ndjson/line_model.h"

namespace millrace {
namespace {

using ndjson::Framed;
using ndjson::make_ndjson_framer;
using ndjson::model_of_lines;
using Status = FrameReader::Status;

ByteChunk chunk_of(std::string_view bytes, std::size_t headroom) {
  ByteChunk chunk = ByteChunk::allocate(bytes.size(), headroom);
  bytes.copy(chunk.data(), bytes.size());
  chunk.set_size(bytes.size());
  return chunk;
}

// Reads a plain object given in pieces, the last one named as such or not. Every view is copied before the next call,
// since it ends there.
Framed read(FrameReader& reader, const std::vector<std::string>& pieces, std::size_t headroom, std::size_t max_frames,
            bool name_last = false) {
  Framed framed;
  Frames frames;
  reader.start(nullptr);
  std::size_t next_piece = 0;
  bool was_finished = false;
  for (;;) {
    const auto status = reader.next(max_frames, frames);
    if (!status) {
      EXPECT_EQ(status.error().code(), ErrorCode::too_large);
      framed.too_large = true;
      return framed;
    }
    EXPECT_LE(frames.size(), max_frames);
    EXPECT_EQ(frames.empty(), *status != Status::frames);
    EXPECT_FALSE(was_finished && *status != Status::end) << "finished() promises that only the end follows";
    was_finished = reader.finished();
    EXPECT_FALSE(*status == Status::end && !was_finished);
    for (const std::string_view frame : frames) framed.records.emplace_back(frame);
    if (*status == Status::end) return framed;
    if (*status != Status::needs_chunk) continue;
    EXPECT_TRUE(reader.wants_chunk());
    if (next_piece == pieces.size()) {
      reader.push_end();
    } else {
      reader.push(chunk_of(pieces[next_piece], headroom), name_last && next_piece + 1 == pieces.size());
      ++next_piece;
    }
  }
}

std::vector<std::string> cut(const std::string& bytes, std::vector<std::size_t> at) {
  std::sort(at.begin(), at.end());
  std::vector<std::string> pieces;
  std::size_t begin = 0;
  at.push_back(bytes.size());
  for (const std::size_t end : at) {
    pieces.push_back(bytes.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

std::vector<std::string> cut_every(const std::string& bytes, std::size_t size) {
  std::vector<std::string> pieces;
  for (std::size_t i = 0; i < bytes.size(); i += size) pieces.push_back(bytes.substr(i, size));
  return pieces;
}

FrameReader reader_with(std::size_t max_record_bytes, std::size_t window_bytes = 256U << 10U) {
  return FrameReader(make_ndjson_framer({.max_record_bytes = max_record_bytes}), {.window_bytes = window_bytes});
}

TEST(FrameReader, AnyChunksOfAPlainObjectGiveTheSameFrames) {
  EXPECT_TRUE(rc::check("random lines, cuts, headroom and windows", [] {
    std::string object;
    const auto lengths = *rc::gen::container<std::vector<std::size_t>>(
        rc::gen::oneOf(rc::gen::inRange<std::size_t>(0, 8), rc::gen::inRange<std::size_t>(0, 300),
                       rc::gen::inRange<std::size_t>(0, 9000)));
    for (const std::size_t length : lengths) {
      object += std::string(length, *rc::gen::element('x', ' ', '\r', '\0'));
      object += *rc::gen::element<std::string>("\n", "\r\n", "\n \n", "\n\xEF\xBB\xBF", "");
    }
    const auto cuts =
        *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, object.size() + 1));
    const auto headroom = *rc::gen::element<std::size_t>(0, 1, 100, 5000);
    const auto window = *rc::gen::element<std::size_t>(1, 64, 4096, 1U << 20U);
    const auto max_frames = *rc::gen::element<std::size_t>(1, 3, 1000);
    const auto max_record = *rc::gen::element<std::size_t>(200, 1U << 20U);
    FrameReader reader = reader_with(max_record, window);
    const Framed expected = model_of_lines(object, max_record);
    for (const bool name_last : {false, true}) {
      const Framed got = read(reader, cut(object, cuts), headroom, max_frames, name_last);
      RC_ASSERT(got.records == expected.records);
      RC_ASSERT(got.too_large == expected.too_large);
    }
    if (!expected.too_large) RC_ASSERT(reader.decoded_bytes() == object.size());
    if (!expected.too_large) RC_ASSERT(reader.stored_bytes() == object.size());
  }));
}

TEST(FrameReader, EveryCutOfASmallObjectGivesTheSameFrames) {
  const std::string object = "\xEF\xBB\xBF{\"n\":1}\r\n\n  \r\n{\"n\":22}\n\r\nx\ry\n last";
  const Framed expected = model_of_lines(object, 100);
  ASSERT_EQ(expected.records.size(), 4U);
  FrameReader reader = reader_with(100);
  for (const std::size_t headroom : {0, 3, 64}) {
    for (std::size_t a = 0; a <= object.size(); ++a) {
      for (std::size_t b = a; b <= object.size(); ++b) {
        EXPECT_EQ(read(reader, cut(object, {a, b}), headroom, 10), expected) << a << ' ' << b << ' ' << headroom;
      }
    }
    EXPECT_EQ(read(reader, cut_every(object, 1), headroom, 10), expected);
  }
}

TEST(FrameReader, TheLastFramesOfAPlainObjectAreKnownAsSuch) {
  FrameReader reader = reader_with(100);
  Frames frames;
  for (const char* object : {"1\n2\n", "1\n2", "1\n2\n \n"}) {
    reader.start(nullptr);
    reader.push(chunk_of(object, 16), /*last=*/true);
    ASSERT_EQ(reader.next(10, frames), Status::frames);
    EXPECT_EQ(frames.size(), 2U);
    EXPECT_TRUE(reader.finished()) << object;
    EXPECT_EQ(reader.next(10, frames), Status::end);
  }
}

// An object whose size is a multiple of the chunk size ends with a whole chunk and nothing behind it.
TEST(FrameReader, C02_AnObjectOfWholeChunks) {
  const std::string object = "0123456\n0123456\n01234567";
  FrameReader reader = reader_with(100);
  EXPECT_EQ(read(reader, cut_every(object, 8), 16, 10).records,
            (std::vector<std::string>{"0123456", "0123456", "01234567"}));
  EXPECT_EQ(read(reader, {}, 16, 10), Framed{});
  EXPECT_EQ(read(reader, {""}, 16, 10), Framed{});
}

TEST(FrameReader, C05_LinesAroundBufferAndChunkSizes) {
  constexpr std::size_t kChunk = 512U << 10U;
  constexpr std::size_t kLimit = 2U << 20U;
  std::string object;
  std::vector<std::string> expected;
  for (const std::size_t length : {std::size_t{65'535}, std::size_t{65'536}, std::size_t{65'537},
                                   std::size_t{1'048'576}, kChunk - 1, kChunk, kChunk + 1, kLimit}) {
    std::string line(length, 'x');
    for (std::size_t i = 0; i < length; i += 97) line[i] = static_cast<char>('a' + i % 26);
    expected.push_back(line);
    object += line + '\n';
  }
  FrameReader reader = reader_with(kLimit);
  for (const std::size_t headroom : {std::size_t{0}, std::size_t{64} << 10U}) {
    const Framed got = read(reader, cut_every(object, kChunk), headroom, 1000);
    EXPECT_FALSE(got.too_large);
    EXPECT_TRUE(got.records == expected);
  }
}

TEST(FrameReader, C05_ALineOverTheLimitNamesLineSizeAndByte) {
  FrameReader reader = reader_with(1000);
  reader.start(nullptr);
  reader.push(chunk_of("ok\n" + std::string(700, 'x'), 64));
  Frames frames;
  ASSERT_EQ(reader.next(10, frames), Status::frames);
  EXPECT_EQ(frames, Frames{"ok"});
  ASSERT_EQ(reader.next(10, frames), Status::needs_chunk);
  reader.push(chunk_of(std::string(700, 'x'), 64));  // 1,400 bytes have come: no need to wait for the line's end
  const auto refused = reader.next(10, frames);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::too_large);
  const std::string& message = refused.error().message();
  EXPECT_TRUE(message.starts_with("line 2 is longer than max_record_bytes: at least ")) << message;
  EXPECT_NE(message.find("limit 1000"), std::string::npos) << message;
  EXPECT_TRUE(message.ends_with(" (decoded byte 3, line 2)")) << message;
  EXPECT_EQ(reader.next(10, frames).error().message(), message);
  reader.start(nullptr);
  EXPECT_TRUE(reader.wants_chunk());
}

TEST(FrameReader, LinesInsideAChunkAreNotCopiedAndALineAcrossChunksOnce) {
  FrameReader reader = reader_with(1U << 20U);
  Frames frames;
  reader.start(nullptr);
  ByteChunk first = chunk_of("one\ntwo\nthr", 8);
  ByteChunk second = chunk_of("ee\nfour\n", 8);
  const char* const first_bytes = first.data();
  const char* const second_bytes = second.data();
  reader.push(std::move(first));
  ASSERT_EQ(reader.next(10, frames), Status::frames);
  EXPECT_EQ(frames, (Frames{"one", "two"}));
  EXPECT_EQ(static_cast<const void*>(frames[0].data()), first_bytes);
  EXPECT_EQ(static_cast<const void*>(frames[1].data()), first_bytes + 4);
  ASSERT_EQ(reader.next(10, frames), Status::needs_chunk);
  reader.push(std::move(second));
  ASSERT_EQ(reader.next(10, frames), Status::frames);
  EXPECT_EQ(frames, (Frames{"three", "four"}));
  EXPECT_EQ(static_cast<const void*>(frames[0].data()), second_bytes - 3)
      << "only the beginning moved, into the headroom";
  EXPECT_EQ(static_cast<const void*>(frames[1].data()), second_bytes + 3);
}

TEST(FrameReader, ARecordTooLongForTheHeadroomIsPutTogetherAndWhatFollowsStaysInItsChunk) {
  FrameReader reader = reader_with(1U << 20U);
  Frames frames;
  reader.start(nullptr);
  reader.push(chunk_of("a long beginning", 4));
  ASSERT_EQ(reader.next(10, frames), Status::needs_chunk);
  ByteChunk second = chunk_of(", its end\nnext\nlast", 4);
  const char* const second_bytes = second.data();
  reader.push(std::move(second));
  ASSERT_EQ(reader.next(10, frames), Status::frames);
  EXPECT_EQ(frames, (Frames{"a long beginning, its end", "next"}));
  EXPECT_EQ(static_cast<const void*>(frames[1].data()), second_bytes + 10);
  ASSERT_EQ(reader.next(10, frames), Status::needs_chunk);
  reader.push_end();
  ASSERT_EQ(reader.next(10, frames), Status::frames);
  EXPECT_EQ(frames, Frames{"last"});
  EXPECT_EQ(reader.next(10, frames), Status::end);
  EXPECT_EQ(reader.next(10, frames), Status::end);
}

TEST(FrameReader, PaddingBehindEveryFrameIsReadable) {
  FrameReader reader = reader_with(1U << 20U, 64);
  Frames frames;
  std::uint64_t sum = 0;
  for (const std::size_t chunk : {1, 7, 50, 1000}) {
    const auto pieces = cut_every(std::string(300, 'x') + "\nshort\n" + std::string(500, 'y'), chunk);
    std::size_t next_piece = 0;
    reader.start(nullptr);
    for (;;) {
      const auto status = reader.next(2, frames);
      ASSERT_TRUE(status);
      for (const auto frame : frames) {
        for (std::size_t i = 0; i < kBytePadding; ++i)
          sum += static_cast<unsigned char>(frame.data()[frame.size() + i]);
      }
      if (*status == Status::end) break;
      if (*status == Status::needs_chunk) {
        next_piece == pieces.size() ? reader.push_end() : reader.push(chunk_of(pieces[next_piece++], 16));
      }
    }
  }
  EXPECT_NE(sum, 1U);  // ASan is what watches
}

}  // namespace
}  // namespace millrace
