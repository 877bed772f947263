// SPDX-License-Identifier: Apache-2.0
// What the benchmarks of codecs share: our two ways over a compressed object, and how both sides get their bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "bench/ratio.h"
#include "formats/ndjson/framer.h"
#include "millrace/framing/frame_reader.h"

namespace millrace::bench {

inline constexpr std::size_t kChunk = 512U << 10U;
inline constexpr std::size_t kWindow = 256U << 10U;

[[noreturn]] inline void die(const char* what) {
  fmt::print(stderr, "benchmark of codecs: {}\n", what);
  std::exit(2);
}

/// Chunks are filled by a copy, as I/O fills them; both sides pay for it.
inline ByteChunk filled_chunk(ChunkPool& pool, std::string_view bytes) {
  ByteChunk chunk = pool.take();
  std::memcpy(chunk.data(), bytes.data(), bytes.size());
  chunk.set_size(bytes.size());
  return chunk;
}

/// The lane's work on one object.
inline Pass reader_pass(std::string_view bytes, Codec codec, std::uint64_t lines) {
  auto reader = std::make_shared<FrameReader>(ndjson::make_ndjson_framer({}));
  std::shared_ptr<Decompressor> decompressor = make_decompressor(codec, {});
  return [bytes, reader, decompressor, lines, frames = Frames(), pool = ChunkPool::make(kChunk, 0, 4)]() mutable {
    std::uint64_t seen = 0;
    std::size_t at = 0;
    reader->start(decompressor.get());
    for (;;) {
      const auto status = reader->next(4096, frames).value();
      seen += frames.size();
      keep(frames.data());
      if (status == FrameReader::Status::end) break;
      if (status != FrameReader::Status::needs_chunk) continue;
      if (at >= bytes.size()) {
        reader->push_end();
        continue;
      }
      reader->push(filled_chunk(*pool, bytes.substr(at, kChunk)));
      at += kChunk;
    }
    if (seen != lines) die("lines are missing");
    return reader->decoded_bytes();
  };
}

/// Without framing.
inline Pass decompressor_pass(std::string_view bytes, Codec codec) {
  std::shared_ptr<Decompressor> decompressor = make_decompressor(codec, {});
  return [bytes, decompressor, out = std::string(kWindow, '\0'), pool = ChunkPool::make(kChunk, 0, 4)]() mutable {
    std::uint64_t produced = 0;
    decompressor->reset();
    for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
      const ByteChunk chunk = filled_chunk(*pool, bytes.substr(at, kChunk));
      std::string_view in = chunk.view();
      Decompressor::Progress progress;
      do {
        progress = decompressor->decompress(in, {out.data(), out.size()}).value();
        in.remove_prefix(progress.consumed);
        produced += progress.produced;
      } while (!in.empty() || progress.produced == out.size());
    }
    if (!decompressor->finish()) die("unfinished");
    return produced;
  };
}

/// Both of our ways over `bytes`, which hold `lines`, against the codec library's own streaming of them.
inline void compare_codec(Ratios& ratios, Codec codec, const std::string& lines_text, std::string_view bytes,
                          std::uint64_t lines, const char* library_name, const Pass& library) {
  const std::string name(to_string(codec));
  ratios.compare(name + " decoded, " + lines_text, {library_name, library},
                 {"decompressor", decompressor_pass(bytes, codec)}, 0.95);
  ratios.compare(name + " to frames, " + lines_text, {library_name, library},
                 {"reader", reader_pass(bytes, codec, lines)}, 0.90);
}

}  // namespace millrace::bench
