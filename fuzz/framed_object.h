// SPDX-License-Identifier: Apache-2.0
// One object through the reader in chunks of one size, for the fuzz targets of formats.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/framing/frame_reader.h"

namespace millrace::fuzz {

struct FramedObject {
  std::vector<std::string> records;
  std::optional<Error> error;
};

inline FramedObject framed_object(std::unique_ptr<Framer> framer, const std::string& object, std::size_t chunk_bytes,
                                  std::size_t headroom) {
  FrameReader reader(std::move(framer), {.window_bytes = 512});
  FramedObject got;
  Frames frames;
  std::size_t at = 0;
  reader.start(nullptr);
  for (;;) {
    const auto status = reader.next(1 + headroom % 7, frames);
    if (!status) {
      got.error = status.error();
      return got;
    }
    for (const auto frame : frames) got.records.emplace_back(frame);
    if (*status == FrameReader::Status::end) return got;
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
}

}  // namespace millrace::fuzz
