// SPDX-License-Identifier: Apache-2.0
// Goal: a record of any format costs no allocation, framed or, where rows become objects, read as well (INV-8). Method:
// count calls of operator new while two objects of different size are read by a reader that is warm; both must count
// the same: zero, and what a header takes.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "formats/csv/framer.h"
#include "formats/json_array/framer.h"
#include "formats/ndjson/framer.h"
#include "millrace/decode/csv.h"
#include "millrace/framing/frame_reader.h"
#include "tests/allocation/counted_new.h"

namespace millrace {
namespace {

std::string gzip_of(const std::string& plain) {
  std::string bytes("\x1F\x8B\x08\x00\0\0\0\0\0\x03", 10);  // one stored block a line, made by hand, without a trailer
  for (std::size_t at = 0; at < plain.size(); at += 200) {
    bytes += std::string("\x00\xC8\x00\x37\xFF", 5) + plain.substr(at, 200);
  }
  return bytes;
}

// Allocations while the chunks are read; how many records came is told apart.
std::uint64_t allocations_of(FrameReader& reader, Decompressor* decompressor, ChunkPool& pool, const std::string& bytes,
                             Frames& frames, CsvReader& rows, std::uint64_t& records) {
  const std::uint64_t before = counted_new();
  records = 0;
  std::size_t at = 0;
  reader.start(decompressor);
  for (;;) {
    const auto status = reader.next(4096, frames);
    if (!status) return UINT64_MAX;
    records += frames.size();
    if (const auto columns = reader.columns()) {
      decode::Json json;
      for (const std::string_view row : frames) {
        if (!rows.read(row, columns, json)) return UINT64_MAX;
      }
    }
    if (*status != FrameReader::Status::needs_chunk) continue;
    if (at == bytes.size()) return counted_new() - before;
    ByteChunk chunk = pool.take();
    const std::size_t size = std::min(pool.capacity(), bytes.size() - at);
    bytes.copy(chunk.data(), size, at);
    chunk.set_size(size);
    at += size;
    reader.push(std::move(chunk));
  }
}

std::string padded(std::string line, const std::string& end) {
  line.resize(200 - end.size(), 'x');
  return line + end;
}

struct Format {
  FramerFactory framer;
  std::string first;  ///< 200 bytes, as each line
  std::string line;
};

TEST(FrameReaderAllocations, ARecordCostsNone) {
  const Format formats[] = {
      {ndjson::make_ndjson_framer, std::string(199, ' ') + "\n", padded("", "\n")},
      {json_array::make_json_array_framer, "[" + std::string(199, ' '),
       padded(R"({"k":"\\\"]","v":[1],"t":")", "\"},\n")},
      {csv::make_csv_framer, padded("a,\"b\",", "\r\n"), padded("1,\"2\n\"\"\",\t", "\r\n")},
  };
  for (const Format& format : formats) {
    std::string small = format.first;
    std::string large = format.first;
    for (int i = 0; i < 2'000; ++i) small += format.line;
    for (int i = 0; i < 20'000; ++i) large += format.line;
    FrameReader reader(format.framer({}));
    const bool header = format.framer == csv::make_csv_framer;
    CsvReader rows;
    const auto gzip = make_decompressor(Codec::gzip, {});
    const auto pool = ChunkPool::make(100'000, 4096, 8);
    Frames frames;
    std::uint64_t records = 0;
    for (Decompressor* decompressor : {static_cast<Decompressor*>(nullptr), gzip.get()}) {
      const std::string small_object = decompressor != nullptr ? gzip_of(small) : small;
      const std::string large_object = decompressor != nullptr ? gzip_of(large) : large;
      allocations_of(reader, decompressor, *pool, large_object, frames, rows, records);  // warms up
      const std::uint64_t of_small = allocations_of(reader, decompressor, *pool, small_object, frames, rows, records);
      EXPECT_EQ(records, 2'000U);
      EXPECT_LE(of_small, header ? 20U : 0U);
      EXPECT_EQ(allocations_of(reader, decompressor, *pool, large_object, frames, rows, records), of_small);
      EXPECT_EQ(records, 20'000U);
    }
  }
}

}  // namespace
}  // namespace millrace
