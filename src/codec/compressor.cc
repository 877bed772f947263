// SPDX-License-Identifier: Apache-2.0
#include "millrace/codec/compressor.h"

#include <isa-l/igzip_lib.h>
#include <zlib.h>
#define ZSTD_STATIC_LINKING_ONLY  // for its estimates of memory
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "millrace/base/check.h"

namespace millrace {
namespace {

// isa-l has levels 0 to 3; 0 packs hardly at all.
constexpr int kFastestOfZlib = 4;
constexpr std::size_t kRoom = std::size_t{64} << 10U;

constexpr std::array<std::size_t, kFastestOfZlib> kIsalMemory{ISAL_DEF_LVL0_DEFAULT, ISAL_DEF_LVL1_DEFAULT,
                                                              ISAL_DEF_LVL2_DEFAULT, ISAL_DEF_LVL3_DEFAULT};
// zconf.h: (1 << (windowBits + 2)) + (1 << (memLevel + 9)), with a few kilobytes for its state; newer ones take a
// quarter more.
constexpr std::uint64_t kZlibMemory = std::uint64_t{640} << 10U;

int level_of(const Compression& compression) {
  return compression.level != 0 ? compression.level : compression_levels(compression.codec).own;
}

class IsalGzip final : public Compressor {
 public:
  explicit IsalGzip(int level) : level_(static_cast<std::uint32_t>(level)), memory_(kIsalMemory.at(level_)) {}
  void compress(std::string_view plain, ByteBuffer& out) override {
    isal_deflate_init(&stream_);
    stream_.level = level_;
    stream_.level_buf = memory_.data();
    stream_.level_buf_size = static_cast<std::uint32_t>(memory_.size());
    stream_.gzip_flag = IGZIP_GZIP;
    stream_.flush = NO_FLUSH;
    do {
      // Its counts are 32 bits wide.
      const std::size_t piece = std::min<std::size_t>(plain.size(), std::size_t{1} << 30U);
      stream_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(plain.data()));
      stream_.avail_in = static_cast<std::uint32_t>(piece);
      plain.remove_prefix(piece);
      stream_.end_of_stream = plain.empty() ? 1 : 0;
      do {
        const std::size_t before = out.size();
        stream_.next_out = reinterpret_cast<std::uint8_t*>(out.grow(kRoom));
        stream_.avail_out = kRoom;
        MILLRACE_CHECK(isal_deflate(&stream_) == COMP_OK, "isa-l cannot compress");
        out.truncate(before + kRoom - stream_.avail_out);
      } while (stream_.avail_out == 0 || (plain.empty() && stream_.internal_state.state != ZSTATE_END));
    } while (!plain.empty());
  }

 private:
  const std::uint32_t level_;
  std::vector<std::uint8_t> memory_;
  isal_zstream stream_{};
};

class ZlibGzip final : public Compressor {
 public:
  explicit ZlibGzip(int level) {
    constexpr int kGzipWithLargestWindow = 15 + 16;
    constexpr int kMemoryLevel = 9;
    MILLRACE_CHECK(
        deflateInit2(&stream_, level, Z_DEFLATED, kGzipWithLargestWindow, kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK,
        "no memory for a gzip stream");
  }
  ~ZlibGzip() override { deflateEnd(&stream_); }
  ZlibGzip(const ZlibGzip&) = delete;
  ZlibGzip& operator=(const ZlibGzip&) = delete;
  void compress(std::string_view plain, ByteBuffer& out) override {
    int ended = Z_OK;
    do {
      const std::size_t piece = std::min<std::size_t>(plain.size(), std::size_t{1} << 30U);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
      stream_.avail_in = static_cast<uInt>(piece);
      plain.remove_prefix(piece);
      do {
        const std::size_t before = out.size();
        stream_.next_out = reinterpret_cast<Bytef*>(out.grow(kRoom));
        stream_.avail_out = kRoom;
        ended = deflate(&stream_, plain.empty() ? Z_FINISH : Z_NO_FLUSH);
        MILLRACE_CHECK(ended != Z_STREAM_ERROR, "zlib cannot compress");
        out.truncate(before + kRoom - stream_.avail_out);
      } while (stream_.avail_out == 0 || (plain.empty() && ended != Z_STREAM_END));
    } while (!plain.empty());
    deflateReset(&stream_);
  }

 private:
  z_stream stream_{};
};

class Zstd final : public Compressor {
 public:
  explicit Zstd(int level) : context_(ZSTD_createCCtx()) {
    MILLRACE_CHECK(context_ != nullptr, "no memory for a zstd context");
    ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
  }
  ~Zstd() override { ZSTD_freeCCtx(context_); }
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;
  void compress(std::string_view plain, ByteBuffer& out) override {
    const std::size_t before = out.size();
    const std::size_t most = ZSTD_compressBound(plain.size());
    const std::size_t size = ZSTD_compress2(context_, out.grow(most), most, plain.data(), plain.size());
    MILLRACE_CHECK(ZSTD_isError(size) == 0U, "libzstd cannot compress");
    out.truncate(before + size);
  }

 private:
  ZSTD_CCtx* const context_;
};

}  // namespace

CompressionLevels compression_levels(Codec codec) noexcept {
  switch (codec) {
    case Codec::gzip:
      return {1, 9, 2};
    case Codec::zstd:
      return {1, 19, 3};
    default:
      return {};
  }
}

std::uint64_t compressor_memory(const Compression& compression, std::uint64_t block) noexcept {
  const int level = level_of(compression);
  if (compression.codec == Codec::zstd) {
    // Its tables shrink with what it is given, and grow again for a larger one.
    return sizeof(Zstd) + ZSTD_estimateCCtxSize_usingCParams(ZSTD_getCParams(level, block, 0));
  }
  if (compression.codec != Codec::gzip) return 0;
  if (level >= kFastestOfZlib) return sizeof(ZlibGzip) + kZlibMemory;
  return sizeof(IsalGzip) + kIsalMemory.at(static_cast<std::size_t>(level));
}

std::unique_ptr<Compressor> make_compressor(const Compression& compression) {
  const int level = level_of(compression);
  if (compression.codec == Codec::zstd) return std::make_unique<Zstd>(level);
  MILLRACE_CHECK(compression.codec == Codec::gzip, "only gzip and zstd are written");
  if (level < kFastestOfZlib) return std::make_unique<IsalGzip>(level);
  return std::make_unique<ZlibGzip>(level);
}

}  // namespace millrace
