// SPDX-License-Identifier: Apache-2.0
// Goal: the digest of an object is that of its decoded bytes, each once, however chunks and windows cut them. Method:
// against one call of the library over the whole.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <xxhash.h>

#include "codec/stream_testing.h"
#include "formats/ndjson/framer.h"
#include "millrace/framing/frame_reader.h"

namespace millrace {
namespace {

std::uint64_t hash_of(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

FrameReader reader_of(std::size_t window_bytes) {
  return FrameReader(ndjson::make_ndjson_framer({}), {.window_bytes = window_bytes, .digest = true});
}

/// Reads all of `stored` and returns the digest.
std::uint64_t digest_of(FrameReader& reader, Decompressor* decompressor, const std::string& stored,
                        std::size_t chunk_bytes, std::size_t max_frames) {
  Frames frames;
  std::size_t at = 0;
  reader.start(decompressor);
  for (;;) {
    const auto status = reader.next(max_frames, frames);
    EXPECT_TRUE(status) << status.error().message();
    if (!status || *status == FrameReader::Status::end) return reader.digest();
    if (*status != FrameReader::Status::needs_chunk) continue;
    if (at == stored.size()) {
      reader.push_end();
      continue;
    }
    const std::size_t size = std::min(chunk_bytes, stored.size() - at);
    ByteChunk chunk = ByteChunk::allocate(size);
    stored.copy(chunk.data(), size, at);
    chunk.set_size(size);
    at += size;
    reader.push(std::move(chunk));
  }
}

RC_GTEST_PROP(Digest, IsThatOfThePlainBytesWhateverTheCuts, ()) {
  FrameReader reader = reader_of(*rc::gen::inRange<std::size_t>(1, 64));
  // Twice, as one object must leave nothing to the next.
  for (int object = 0; object < 2; ++object) {
    const auto text = *rc::gen::container<std::string>(rc::gen::element('a', 'b', ' ', '\n', '\r'));
    const auto chunk = *rc::gen::inRange<std::size_t>(1, 40);
    RC_ASSERT(digest_of(reader, nullptr, text, chunk, *rc::gen::inRange<std::size_t>(1, 5)) == hash_of(text));
  }
}

TEST(Digest, IsThatOfWhatWasPacked) {
  const auto data = [](const char* name) {
    return codec::file_bytes(std::filesystem::path(MILLRACE_CODEC_TEST_DATA) / name);
  };
  const std::uint64_t expected = hash_of(data("lines"));
  for (const std::string name : {"lines.gz", "lines.zst"}) {
    for (const std::size_t window : {std::size_t{500}, std::size_t{256} << 10U}) {
      FrameReader reader = reader_of(window);
      const auto decompressor = make_decompressor(codec_of_key(name), {});
      EXPECT_EQ(digest_of(reader, decompressor.get(), data(name.c_str()), 4099, 4096), expected) << name << window;
    }
  }
}

}  // namespace
}  // namespace millrace
