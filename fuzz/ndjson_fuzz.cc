// SPDX-License-Identifier: Apache-2.0
// Any bytes, in any chunks, frame as the line model says. The first byte is the chunk size, the second the headroom.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "formats/ndjson/framer.h"
#include "formats/ndjson/line_model.h"
#include "millrace/framing/frame_reader.h"

namespace {

constexpr std::size_t kMaxRecordBytes = 4000;

void fuzz_lines(const std::string& object, std::size_t chunk_bytes, std::size_t headroom) {
  using namespace millrace;
  FrameReader reader(ndjson::make_ndjson_framer({.max_record_bytes = kMaxRecordBytes}), {.window_bytes = 512});
  const ndjson::Framed expected = ndjson::model_of_lines(object, kMaxRecordBytes);
  ndjson::Framed got;
  Frames frames;
  std::size_t at = 0;
  reader.start(nullptr);
  for (;;) {
    const auto status = reader.next(1 + headroom % 7, frames);
    if (!status) {
      got.too_large = true;
      break;
    }
    for (const auto frame : frames) got.records.emplace_back(frame);
    if (*status == FrameReader::Status::end) break;
    if (*status != FrameReader::Status::needs_chunk) continue;
    if (at == object.size()) {
      reader.push_end();
      continue;
    }
    const std::size_t size = std::min(chunk_bytes, object.size() - at);
    ByteChunk chunk = ByteChunk::allocate(size, headroom);
    object.copy(chunk.data(), size, at);
    chunk.set_size(size);
    at += size;
    reader.push(std::move(chunk));
  }
  if (got.records != expected.records || got.too_large != expected.too_large) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  fuzz_lines({reinterpret_cast<const char*>(data + 2), size - 2}, std::size_t{1} + data[0], data[1]);
  return 0;
}
