// SPDX-License-Identifier: Apache-2.0
// Shows a framer a stream in pieces, as the reader does, and checks what every framer promises. For tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/bytes.h"
#include "millrace/framing/framer.h"

namespace millrace::framing {

struct FramedStream {
  std::vector<std::string> records;
  std::optional<Error> error;
  std::uint64_t position = 0;  ///< of the error
};

/// Shows `framer` growing windows that end at `cuts` (and the end), each in a heap block of its own size plus padding
/// that is filled with `padding`.
inline FramedStream frame_in_pieces(Framer& framer, const std::string& stream, std::vector<std::size_t> cuts,
                                    std::size_t max_frames, char padding = '\n') {
  cuts.push_back(stream.size());
  FramedStream framed;
  Frames frames;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const bool last = i + 1 == cuts.size();
    for (;;) {
      const std::size_t size = cuts[i] - begin;
      const auto block = std::make_unique<char[]>(size + kBytePadding);
      std::fill_n(block.get(), size + kBytePadding, padding);
      stream.copy(block.get(), size, begin);
      frames.clear();
      const auto consumed = framer.frame({block.get(), size}, last, max_frames, frames);
      if (!consumed) {
        EXPECT_TRUE(frames.empty());
        framed.error = consumed.error();
        framed.position = framer.position();
        const auto again = framer.frame({block.get(), size}, last, max_frames, frames);
        EXPECT_FALSE(again) << "an error comes again";
        if (!again) {
          EXPECT_EQ(again.error().message(), consumed.error().message());
        }
        EXPECT_EQ(framer.position(), framed.position);
        return framed;
      }
      EXPECT_LE(frames.size(), max_frames);
      EXPECT_LE(*consumed, size);
      for (const std::string_view frame : frames) framed.records.emplace_back(frame);
      begin += *consumed;
      if (*consumed == 0) break;
    }
  }
  EXPECT_EQ(begin, stream.size());
  return framed;
}

/// A cut behind each byte.
inline std::vector<std::size_t> every_cut(const std::string& stream) {
  std::vector<std::size_t> cuts;
  for (std::size_t i = 0; i < stream.size(); ++i) cuts.push_back(i);
  return cuts;
}

}  // namespace millrace::framing
