// SPDX-License-Identifier: Apache-2.0
// Framing NDJSON in memory against a memchr loop over the same bytes. Further lines: bytes
// that are in cache, as after decompression; and the whole reader over chunks, where both sides also copy the bytes in.
#include <algorithm>
#include <cstring>
#include <string>

#include "bench/ndjson_lines.h"
#include "bench/ratio.h"
#include "formats/csv/framer.h"
#include "formats/json_array/framer.h"
#include "formats/ndjson/framer.h"
#include "millrace/framing/frame_reader.h"

namespace millrace::bench {
namespace {

constexpr std::size_t kWindow = 256U << 10U;
constexpr std::size_t kChunk = 512U << 10U;

std::uint64_t lines_by_memchr(std::string_view bytes) {
  std::uint64_t lines = 0;
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  while (at != end) {
    const auto* found = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    if (found == nullptr) break;
    ++lines;
    at = found + 1;
  }
  return lines;
}

Pass memchr_pass(std::string_view bytes) {
  return [bytes] {
    keep(lines_by_memchr(bytes));
    return bytes.size();
  };
}

Pass framer_pass(std::string_view bytes, FramerFactory factory = ndjson::make_ndjson_framer) {
  return [bytes, framer = std::shared_ptr<Framer>(factory({})), frames = Frames()]() mutable {
    framer->reset();
    for (std::size_t at = 0; at != bytes.size();) {
      frames.clear();
      const std::string_view window = bytes.substr(at, kWindow);
      const bool last = at + window.size() == bytes.size();
      at += framer->frame(window, last, SIZE_MAX, frames).value();
      keep(frames.data());
    }
    return bytes.size();
  };
}

ByteChunk filled_chunk(ChunkPool& pool, std::string_view bytes) {
  ByteChunk chunk = pool.take();
  std::memcpy(chunk.data(), bytes.data(), bytes.size());
  chunk.set_size(bytes.size());
  return chunk;
}

Pass memchr_chunks_pass(std::string_view bytes) {
  return [bytes, pool = ChunkPool::make(kChunk, 16U << 10U, 4)] {
    for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
      keep(lines_by_memchr(filled_chunk(*pool, bytes.substr(at, kChunk)).view()));
    }
    return bytes.size();
  };
}

Pass reader_pass(std::string_view bytes) {
  auto reader = std::make_shared<FrameReader>(ndjson::make_ndjson_framer({}));
  return [bytes, reader, pool = ChunkPool::make(kChunk, 16U << 10U, 4), frames = Frames()]() mutable {
    reader->start(nullptr);
    std::size_t at = 0;
    for (;;) {
      const auto status = reader->next(4096, frames).value();
      keep(frames.data());
      if (status == FrameReader::Status::end) return bytes.size();
      if (status != FrameReader::Status::needs_chunk) continue;
      if (at >= bytes.size()) {
        reader->push_end();
      } else {
        reader->push(filled_chunk(*pool, bytes.substr(at, kChunk)));
        at += kChunk;
      }
    }
  };
}

/// An array of the documents that `lines` are, but for the first.
std::string array_of(std::string lines) {
  const std::size_t first = lines.find('\n') + 1;
  std::replace(lines.begin() + static_cast<std::ptrdiff_t>(first), lines.end(), '\n', ',');
  lines.replace(0, first, first, ' ');
  lines.front() = '[';
  lines.back() = ']';
  return lines;
}

/// Rows of about 200 bytes in ten fields, every `quoted`th of them with one in quotes; 0: none.
std::string rows(std::size_t total_bytes, std::size_t quoted) {
  std::string all = "a,b,c,d,e,f,g,h,i,j\n";
  for (std::size_t n = 0; all.size() < total_bytes; ++n) {
    for (int field = 0; field < 9; ++field) all += fmt::format("{},", (n * 7919 + 1'000'003) * (field + 1));
    const std::string text(60 + n % 40, 'x');
    all += quoted != 0 && n % quoted == 0 ? "\"" + text + " \"\"y\"\", z\"\n" : text + "\n";
  }
  return all;
}

/// Against lines that memchr finds in as many other bytes.
void compare(Ratios& ratios, const std::string& name, std::string bytes, FramerFactory factory, double least) {
  const std::size_t size = bytes.size();
  bytes.append(kBytePadding, '\0');
  const std::string lines = ndjson_lines(size, 200);
  ratios.compare(name, {"memchr, 200 B lines", memchr_pass(lines)},
                 {"framer", framer_pass({bytes.data(), size}, factory)}, least);
}

void run_other_formats(Ratios& ratios) {
  for (const std::size_t mean : {200, 1024}) {
    compare(ratios, fmt::format("framing, a JSON array of {} B documents", mean),
            array_of(ndjson_lines(96U << 20U, mean)), json_array::make_json_array_framer, 0.2);
  }
  compare(ratios, "framing, CSV without quotes", rows(96U << 20U, 0), csv::make_csv_framer, 0.5);
  compare(ratios, "framing, CSV with quotes in every row", rows(96U << 20U, 1), csv::make_csv_framer, 0.2);
}

void run(Ratios& ratios) {
  for (const std::size_t mean : {200, 1024}) {
    const std::string large = ndjson_lines(96U << 20U, mean) + std::string(kBytePadding, '\0');
    const std::string_view bytes(large.data(), large.size() - kBytePadding);
    const std::string_view hot = bytes.substr(0, bytes.rfind('\n', 128U << 10U) + 1);
    const std::string size = mean == 200 ? "200 B lines" : "1 KiB lines";
    ratios.compare("framing, " + size + ", in memory", {"memchr", memchr_pass(bytes)}, {"framer", framer_pass(bytes)},
                   0.80);
    ratios.compare("framing, " + size + ", in cache", {"memchr", memchr_pass(hot)}, {"framer", framer_pass(hot)}, 0.80);
    ratios.compare("framing, " + size + ", chunks copied in", {"memcpy, memchr", memchr_chunks_pass(bytes)},
                   {"reader", reader_pass(bytes)}, 0.80);
  }
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  millrace::bench::Ratios ratios(argc, argv);
  millrace::bench::run(ratios);
  millrace::bench::run_other_formats(ratios);
  return ratios.exit_code();
}
