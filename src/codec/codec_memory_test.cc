// SPDX-License-Identifier: Apache-2.0
// Goal: a plan's memory holds what a decompressor or a compressor takes, and not much more. Method: what the allocator
// has given out while streams of the largest kind each are read, against decompressor_memory() and compressor_memory().
// What a call gives back before it returns is not seen.
#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <tuple>

#include "codec/stream_testing.h"
#include "millrace/base/bytes.h"
#include "millrace/codec/compressor.h"
#include "millrace/codec/decompressor.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MILLRACE_SANITIZER_ALLOCATES
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MILLRACE_SANITIZER_ALLOCATES
#endif
#ifdef MILLRACE_SANITIZER_ALLOCATES
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();  // g++ brings the function without its header
#else
#include <malloc.h>
#endif

namespace millrace::codec {
namespace {

std::uint64_t allocated() {
#ifdef MILLRACE_SANITIZER_ALLOCATES
  return __sanitizer_get_current_allocated_bytes();
#else
  const auto heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
#endif
}

/// The most that the reader of `bytes` holds between two calls.
std::uint64_t held(Codec codec, const DecompressorOptions& options, std::string_view bytes) {
  std::string room(64U << 10U, '\0');
  const std::uint64_t before = allocated();
  const auto decompressor = make_decompressor(codec, options);
  std::uint64_t most = allocated() - before;
  for (;;) {
    const auto progress = decompressor->decompress(bytes, room);
    if (!progress) {
      ADD_FAILURE() << progress.error().message();
      return most;
    }
    most = std::max(most, allocated() - before);
    bytes.remove_prefix(progress->consumed);
    if (bytes.empty() && progress->produced < room.size()) return most;
  }
}

std::string data(const std::string& name) { return file_bytes(std::filesystem::path(MILLRACE_CODEC_TEST_DATA) / name); }

/// A frame whose window is as long as it may be, and used.
std::string zstd_with_window(int log) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, log);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  const std::string plain(std::size_t{3} << static_cast<unsigned>(log), 'x');
  std::string bytes(ZSTD_compressBound(plain.size()), '\0');
  ZSTD_inBuffer in{plain.data(), plain.size(), 0};
  ZSTD_outBuffer out{bytes.data(), bytes.size(), 0};
  // In two steps: one that gives the end at once would be told the size, and choose a smaller window.
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue);
  while (ZSTD_compressStream2(context, &out, &in, ZSTD_e_end) != 0) {
  }
  ZSTD_freeCCtx(context);
  bytes.resize(out.pos);
  return bytes;
}

/// A frame that says linked blocks of 4 MiB, and has one byte in one that is not compressed.
std::string lz4_with_largest_blocks() {
  using namespace std::string_literals;
  return "\x04\x22\x4d\x18\x40\x70\xdf\x01\0\0\x80x\0\0\0\0"s;
}

TEST(DecompressorMemory, IsAtMostWhatIsPlannedAndNotHalfOfIt) {
  DecompressorOptions options;
  options.zstd_window_log_max = 22;
  const struct {
    Codec codec;
    std::string bytes;
  } cases[] = {
      {Codec::gzip, data("lines.gz")},
      {Codec::zstd, zstd_with_window(22)},
      {Codec::bz2, data("lines.bz2")},  // bzip2 writes the largest blocks unless told otherwise
      {Codec::lz4, lz4_with_largest_blocks()},
  };
  for (const auto& c : cases) {
    if (!codec_is_built(c.codec)) continue;
    const std::uint64_t planned = decompressor_memory(c.codec, options);
    const std::uint64_t most = held(c.codec, options, c.bytes);
    EXPECT_LE(most, planned) << to_string(c.codec);
    EXPECT_GT(most, planned / 2) << to_string(c.codec);
  }
  EXPECT_EQ(decompressor_memory(Codec::none, options), 0U);
}

TEST(DecompressorMemory, OfXzIsItsLimit) {
  if (!codec_is_built(Codec::xz)) return;
  DecompressorOptions options;
  EXPECT_EQ(decompressor_memory(Codec::xz, options), options.xz_memory_limit);
  EXPECT_LE(held(Codec::xz, options, data("lines.xz")), options.xz_memory_limit);
}

// And those that pack, whatever block they had before.
TEST(CompressorMemory, HoldsWhatIsTaken) {
  std::string block(std::size_t{3} << 19U, '\0');  // three of the usual half
  std::uint64_t noise = 1;
  for (char& c : block) c = static_cast<char>('a' + (noise = noise * 6364136223846793005U + 1) % 23);
  ByteBuffer out;
  std::ignore = out.grow(std::size_t{8} << 20U);
  for (const Codec codec : {Codec::gzip, Codec::zstd}) {
    for (int level = 1; level <= compression_levels(codec).most; ++level) {
      const std::uint64_t before = allocated();
      const auto compressor = make_compressor({codec, level});
      for (const std::size_t size : {block.size() / 3, block.size(), std::size_t{100}}) {
        out.clear();
        compressor->compress(std::string_view(block).substr(0, size), out);
      }
      const std::uint64_t taken = allocated() - before;
      const std::uint64_t told = compressor_memory({codec, level}, block.size());
      EXPECT_LE(taken, told) << to_string(codec) << " " << level;
      EXPECT_LE(told, 2 * taken + (std::uint64_t{64} << 10U)) << to_string(codec) << " " << level;
    }
  }
}

}  // namespace
}  // namespace millrace::codec
