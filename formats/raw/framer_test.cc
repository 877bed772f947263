// SPDX-License-Identifier: Apache-2.0
// Goal: one record that is the object, byte for byte. Method: random bytes through the framer at all cuts and through
// the reader in chunks of all sizes; the limit on both sides, and how much is buffered when it is passed.
#include "formats/raw/framer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <random>
#include <string>
#include <vector>

#include "framing/framer_testing.h"
#include "millrace/framing/frame_reader.h"

namespace millrace::raw {
namespace {

using Records = std::vector<std::string>;

std::string random_bytes(std::size_t size) {
  std::mt19937_64 random(7);  // the same each time
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

TEST(RawFramer, G02_EveryCutGivesTheWholeObject) {
  EXPECT_TRUE(rc::check("one record of all bytes", [] {
    const auto stream = *rc::gen::resize(24, rc::gen::container<std::string>(rc::gen::arbitrary<char>()));
    RawFramer framer({});
    const Records expected = stream.empty() ? Records{} : Records{stream};
    for (std::size_t a = 0; a <= stream.size(); ++a) {
      for (std::size_t b = a; b <= stream.size(); ++b) {
        RC_ASSERT(framing::frame_in_pieces(framer, stream, {a, b}, 1).records == expected);
      }
    }
    RC_ASSERT(framing::frame_in_pieces(framer, stream, framing::every_cut(stream), 3).records == expected);
  }));
}

TEST(RawFramer, G02_AMegabyteOfRandomBytesThroughTheReader) {
  const std::string object = random_bytes(1U << 20U);
  for (const std::size_t chunk_bytes : {std::size_t{997}, std::size_t{64} << 10U, object.size(), object.size() + 1}) {
    FrameReader reader(make_raw_framer({}), {.window_bytes = 4096});
    Frames frames;
    Records records;
    std::size_t at = 0;
    reader.start(nullptr);
    for (;;) {
      const auto status = reader.next(100, frames);
      ASSERT_TRUE(status);
      for (const std::string_view frame : frames) records.emplace_back(frame);
      if (*status == FrameReader::Status::end) break;
      if (*status != FrameReader::Status::needs_chunk) continue;
      const std::size_t size = std::min(chunk_bytes, object.size() - at);
      ByteChunk chunk = ByteChunk::allocate(size, 16);
      object.copy(chunk.data(), size, at);
      chunk.set_size(size);
      at += size;
      reader.push(std::move(chunk), at == object.size());
    }
    ASSERT_EQ(records.size(), 1U);
    EXPECT_TRUE(records[0] == object) << "not the same bytes in chunks of " << chunk_bytes;
  }
}

TEST(RawFramer, C05_AnObjectOverTheLimitIsRefusedBeforeItIsWhole) {
  RawFramer framer(FramerOptions{.max_record_bytes = 1000});
  const std::string object(1001, 'x');
  Frames frames;
  EXPECT_EQ(framer.frame(std::string_view(object).substr(0, 1000), false, 1, frames), 0U);
  const auto refused = framer.frame(object, false, 1, frames);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::too_large);
  EXPECT_TRUE(refused.error().is_fatal());
  EXPECT_EQ(refused.error().message(),
            "format raw makes one record of the whole object, which is longer than max_record_bytes: at least 1001 "
            "bytes, limit 1000; raise max_record_bytes, or choose a format that cuts the object into records");
  EXPECT_EQ(framing::frame_in_pieces(framer, object.substr(1), {}, 1).records, Records{object.substr(1)});
}

}  // namespace
}  // namespace millrace::raw
