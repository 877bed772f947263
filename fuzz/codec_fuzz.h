// SPDX-License-Identifier: Apache-2.0
// What every decompressor owes to any bytes whatever: a result that does not depend on how they are cut, and that no
// memory but its own is touched.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "codec/stream_testing.h"

namespace millrace::codec {

/// Returns what came out in one piece.
inline Decoded fuzz_codec(Codec codec, const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t step = size == 0 ? 1 : 1 + data[size / 2] % 61;
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < size; at += step) pieces.push_back(bytes.substr(at, step));
  const auto decompressor = make_decompressor(codec, {.zstd_window_log_max = 20, .xz_memory_limit = 4U << 20U});
  // Above the 64 KiB in which isa-l holds what it decodes ahead; below what would cost most of the time to clear.
  const Decoded whole = decode(*decompressor, bytes, 192U << 10U);
  const Decoded in_pieces = decode(*decompressor, pieces, 1 + step * 37);
  if (whole.error.has_value() != in_pieces.error.has_value()) std::abort();
  if (!whole.error && whole.bytes != in_pieces.bytes) std::abort();
  return whole;
}

}  // namespace millrace::codec
