// SPDX-License-Identifier: Apache-2.0
// Running a decompressor over pieces, for tests and fuzz targets.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "millrace/codec/decompressor.h"

namespace millrace::codec {

struct Decoded {
  std::string bytes;
  std::optional<Error> error;
};

/// Feeds `pieces` with at most `room` bytes of output a call, as the contract says: until one of the two is used up.
/// Aborts (throws) when the decompressor breaks it: stops early, writes outside of its output, or changes its error.
inline Decoded decode(Decompressor& decompressor, const std::vector<std::string>& pieces, std::size_t room) {
  constexpr std::size_t kFence = 64;
  const auto demand = [](bool holds, const char* what) {
    if (!holds) throw std::logic_error(what);
  };
  Decoded decoded;
  std::vector<char> output(room + 2 * kFence);
  std::uint64_t consumed = 0;
  decompressor.reset();
  for (std::size_t i = 0; i <= pieces.size(); ++i) {
    // Each piece on the heap by itself, so that ASan sees a read beyond it; at last nothing, for what is held back.
    const std::vector<char> piece =
        i < pieces.size() ? std::vector<char>(pieces[i].begin(), pieces[i].end()) : std::vector<char>();
    std::string_view rest(piece.data(), piece.size());
    for (;;) {
      std::memset(output.data(), '#', output.size());
      const auto progress = decompressor.decompress(rest, {output.data() + kFence, room});
      for (std::size_t k = 0; k < kFence; ++k) {
        demand(output[k] == '#' && output[kFence + room + k] == '#', "wrote outside of the output");
      }
      if (!progress) {
        const auto again = decompressor.decompress(rest, {output.data() + kFence, room});
        demand(!again && again.error().message() == progress.error().message(), "an error is said again");
        demand(!decompressor.finish(), "a failed stream does not finish");
        decoded.error = progress.error();
        return decoded;
      }
      demand(progress->consumed <= rest.size() && progress->produced <= room, "counts more than there was");
      decoded.bytes.append(output.data() + kFence, progress->produced);
      rest.remove_prefix(progress->consumed);
      consumed += progress->consumed;
      demand(decompressor.consumed_total() == consumed, "counts its input");
      if (progress->produced < room && rest.empty()) break;
      demand(progress->produced != 0 || progress->consumed != 0, "stands still");
    }
  }
  if (const auto finished = decompressor.finish(); !finished) decoded.error = finished.error();
  return decoded;
}

inline Decoded decode(Decompressor& decompressor, const std::string& bytes, std::size_t room = 64U << 10U) {
  return decode(decompressor, std::vector<std::string>{bytes}, room);
}

inline std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace millrace::codec
