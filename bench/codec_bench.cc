// SPDX-License-Identifier: Apache-2.0
// Gzip and zstd objects to frames, per thread, against the codec library's own streaming into one buffer that is
// dropped. Ours decodes, checks, frames and hands out every line.
#include <isa-l.h>
#include <zlib.h>
#include <zstd.h>

#include "bench/codec_passes.h"
#include "bench/ndjson_lines.h"

namespace millrace::bench {
namespace {

constexpr std::size_t kMember = 8U << 20U;

std::string gzip_of(std::string_view plain, int level) {
  std::string all;
  for (std::size_t at = 0; at < plain.size(); at += kMember) {
    const std::string_view part = plain.substr(at, kMember);
    z_stream stream{};
    if (deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) die("zlib");
    std::string out(deflateBound(&stream, part.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
    stream.avail_in = static_cast<uInt>(part.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END) die("zlib");
    all.append(out, 0, stream.total_out);
    deflateEnd(&stream);
  }
  return all;
}

std::string zstd_of(std::string_view plain, int level) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(plain.size()), '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), plain.data(), plain.size()));
  ZSTD_freeCCtx(context);
  return out;
}

// isa-l as its own programs use it: members one after another, checksums checked, the output dropped.
Pass igzip_pass(std::string_view bytes) {
  auto state = std::make_shared<inflate_state>();
  return [bytes, state, out = std::string(kWindow, '\0'), pool = ChunkPool::make(kChunk, 0, 4)]() mutable {
    std::uint64_t produced = 0;
    ByteChunk chunk;
    isal_inflate_init(state.get());
    state->crc_flag = ISAL_GZIP;
    std::size_t at = 0;
    while (at < bytes.size() || state->avail_in != 0) {
      if (state->avail_in == 0) {
        chunk = filled_chunk(*pool, bytes.substr(at, kChunk));
        state->next_in = reinterpret_cast<std::uint8_t*>(chunk.data());
        state->avail_in = static_cast<std::uint32_t>(chunk.size());
        at += chunk.size();
      }
      if (state->block_state == ISAL_BLOCK_FINISH) {
        isal_inflate_reset(state.get());
        state->crc_flag = ISAL_GZIP;
      }
      do {
        state->next_out = reinterpret_cast<std::uint8_t*>(out.data());
        state->avail_out = static_cast<std::uint32_t>(out.size());
        if (isal_inflate(state.get()) < 0) die("igzip");
        produced += out.size() - state->avail_out;
      } while (state->avail_out == 0 && state->block_state != ISAL_BLOCK_FINISH);
    }
    return produced;
  };
}

Pass libzstd_pass(std::string_view bytes) {
  std::shared_ptr<ZSTD_DCtx> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  return [bytes, context, out = std::string(kWindow, '\0'), pool = ChunkPool::make(kChunk, 0, 4)]() mutable {
    std::uint64_t produced = 0;
    ZSTD_DCtx_reset(context.get(), ZSTD_reset_session_only);
    for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
      const ByteChunk chunk = filled_chunk(*pool, bytes.substr(at, kChunk));
      ZSTD_inBuffer in{chunk.data(), chunk.size(), 0};
      ZSTD_outBuffer to{out.data(), out.size(), 0};
      do {
        to.pos = 0;
        if (ZSTD_isError(ZSTD_decompressStream(context.get(), &to, &in)) != 0) die("libzstd");
        produced += to.pos;
      } while (in.pos != in.size || to.pos == to.size);
    }
    return produced;
  };
}

void run(Ratios& ratios) {
  for (const std::size_t mean : {200, 1024}) {
    const std::string plain = ndjson_lines(32U << 20U, mean);
    const auto lines = static_cast<std::uint64_t>(std::count(plain.begin(), plain.end(), '\n'));
    const std::string size = mean == 200 ? "200 B lines" : "1 KiB lines";
    const std::string gzip = gzip_of(plain, 6);
    const std::string zstd = zstd_of(plain, 3);
    compare_codec(ratios, Codec::gzip, size, gzip, lines, "igzip", igzip_pass(gzip));
    compare_codec(ratios, Codec::zstd, size, zstd, lines, "libzstd", libzstd_pass(zstd));
  }
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  millrace::bench::Ratios ratios(argc, argv);
  millrace::bench::run(ratios);
  return ratios.exit_code();
}
