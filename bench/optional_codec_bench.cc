// SPDX-License-Identifier: Apache-2.0
// bz2, xz and lz4 objects to frames, per thread, against the codec library's own streaming into one buffer that is
// dropped. Ours decodes, checks, frames and hands out every line.
#include <bzlib.h>
#include <lz4frame.h>
#include <lzma.h>

#include "bench/codec_passes.h"
#include "bench/ndjson_lines.h"

namespace millrace::bench {
namespace {

std::string bz2_of(std::string_view plain) {
  auto size = static_cast<unsigned>(plain.size() + plain.size() / 100 + 600);
  std::string out(size, '\0');
  if (BZ2_bzBuffToBuffCompress(out.data(), &size, const_cast<char*>(plain.data()), static_cast<unsigned>(plain.size()),
                               9, 0, 0) != BZ_OK) {
    die("libbz2");
  }
  out.resize(size);
  return out;
}

std::string xz_of(std::string_view plain) {
  std::string out(lzma_stream_buffer_bound(plain.size()), '\0');
  std::size_t size = 0;
  if (lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(plain.data()),
                              plain.size(), reinterpret_cast<std::uint8_t*>(out.data()), &size,
                              out.size()) != LZMA_OK) {
    die("liblzma");
  }
  out.resize(size);
  return out;
}

// As the lz4 program writes it: independent blocks of 4 MiB, a checksum of the content.
std::string lz4_of(std::string_view plain) {
  LZ4F_preferences_t how{};
  how.frameInfo.blockSizeID = LZ4F_max4MB;
  how.frameInfo.blockMode = LZ4F_blockIndependent;
  how.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  std::string out(LZ4F_compressFrameBound(plain.size(), &how), '\0');
  const std::size_t size = LZ4F_compressFrame(out.data(), out.size(), plain.data(), plain.size(), &how);
  if (LZ4F_isError(size) != 0) die("liblz4");
  out.resize(size);
  return out;
}

Pass libbz2_pass(std::string_view bytes) {
  return [bytes, out = std::string(kWindow, '\0'), pool = ChunkPool::make(kChunk, 0, 4)]() mutable {
    std::uint64_t produced = 0;
    bz_stream stream{};
    if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) die("libbz2");
    for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
      const ByteChunk chunk = filled_chunk(*pool, bytes.substr(at, kChunk));
      stream.next_in = const_cast<char*>(chunk.data());
      stream.avail_in = static_cast<unsigned>(chunk.size());
      int result = BZ_OK;
      do {
        stream.next_out = out.data();
        stream.avail_out = static_cast<unsigned>(out.size());
        result = BZ2_bzDecompress(&stream);
        if (result != BZ_OK && result != BZ_STREAM_END) die("libbz2");
        produced += out.size() - stream.avail_out;
      } while (result == BZ_OK && (stream.avail_in != 0 || stream.avail_out == 0));
    }
    BZ2_bzDecompressEnd(&stream);
    return produced;
  };
}

Pass liblzma_pass(std::string_view bytes) {
  return [bytes, out = std::string(kWindow, '\0'), pool = ChunkPool::make(kChunk, 0, 4)]() mutable {
    std::uint64_t produced = 0;
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, UINT64_MAX, 0) != LZMA_OK) die("liblzma");
    for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
      const ByteChunk chunk = filled_chunk(*pool, bytes.substr(at, kChunk));
      stream.next_in = reinterpret_cast<const std::uint8_t*>(chunk.data());
      stream.avail_in = chunk.size();
      lzma_ret result = LZMA_OK;
      do {
        stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
        stream.avail_out = out.size();
        result = lzma_code(&stream, LZMA_RUN);
        if (result != LZMA_OK && result != LZMA_STREAM_END) die("liblzma");
        produced += out.size() - stream.avail_out;
      } while (result == LZMA_OK && (stream.avail_in != 0 || stream.avail_out == 0));
    }
    lzma_end(&stream);
    return produced;
  };
}

Pass liblz4_pass(std::string_view bytes) {
  LZ4F_dctx* made = nullptr;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION)) != 0) die("liblz4");
  std::shared_ptr<LZ4F_dctx> context(made, [](LZ4F_dctx* one) { LZ4F_freeDecompressionContext(one); });
  return [bytes, context, out = std::string(kWindow, '\0'), pool = ChunkPool::make(kChunk, 0, 4)]() mutable {
    std::uint64_t produced = 0;
    LZ4F_resetDecompressionContext(context.get());
    for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
      const ByteChunk chunk = filled_chunk(*pool, bytes.substr(at, kChunk));
      std::string_view in = chunk.view();
      std::size_t written = 0;
      do {
        std::size_t taken = in.size();
        written = out.size();
        if (LZ4F_isError(LZ4F_decompress(context.get(), out.data(), &written, in.data(), &taken, nullptr)) != 0) {
          die("liblz4");
        }
        in.remove_prefix(taken);
        produced += written;
      } while (!in.empty() || written == out.size());
    }
    return produced;
  };
}

void run(Ratios& ratios) {
  for (const std::size_t mean : {200, 1024}) {
    const std::string plain = ndjson_lines(8U << 20U, mean);
    const auto lines = static_cast<std::uint64_t>(std::count(plain.begin(), plain.end(), '\n'));
    const std::string size = mean == 200 ? "200 B lines" : "1 KiB lines";
    const std::string bz2 = bz2_of(plain);
    compare_codec(ratios, Codec::bz2, size, bz2, lines, "libbz2", libbz2_pass(bz2));
    const std::string xz = xz_of(plain);
    compare_codec(ratios, Codec::xz, size, xz, lines, "liblzma", liblzma_pass(xz));
    const std::string lz4 = lz4_of(plain);
    compare_codec(ratios, Codec::lz4, size, lz4, lines, "liblz4", liblz4_pass(lz4));
  }
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  millrace::bench::Ratios ratios(argc, argv);
  millrace::bench::run(ratios);
  return ratios.exit_code();
}
