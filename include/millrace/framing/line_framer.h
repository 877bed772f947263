// SPDX-License-Identifier: Apache-2.0
// LineFramer: what the line formats share, as a Framer. Lines end at LF or CRLF (exactly one CR is stripped, also from
// an unterminated last line); an unterminated last line is a line, what follows the last LF is none when it is empty;
// every other byte, NUL and invalid UTF-8 included, passes. Which lines are records is the format's to say. Lane
// thread; owned by the FrameReader of a lane.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/framing/framer.h"

#pragma GCC visibility push(default)
namespace millrace {

/// What a line format takes for a record.
struct LineRules {
  bool blank_lines_are_records = true;  ///< false: lines of space, \t, \r, \v, \f alone, or of nothing, are skipped
  bool skip_byte_order_mark = false;    ///< a UTF-8 BOM at the start of the stream is not part of its first line
};

class LineFramer : public Framer {
 public:
  LineFramer(const FramerOptions& options, LineRules rules);

  Result<std::size_t> frame(std::string_view window, bool end_of_stream, std::size_t max_frames,
                            Frames& frames) override;
  void reset() override;
  /// The line that comes next.
  [[nodiscard]] std::uint64_t position() const override { return lines_ + 1; }

 private:
  // What is searched in one go: with its positions it fits the first-level cache.
  static constexpr std::size_t kPieceBytes = 4096;

  [[nodiscard]] Error too_large(std::size_t bytes_so_far, bool whole) const;

  const std::size_t max_record_bytes_;
  const LineRules rules_;
  std::size_t (*const find_newlines_)(const char* bytes, std::size_t size, std::uint32_t* positions);
  bool at_start_ = true;
  std::uint64_t lines_ = 0;   // done with, skipped ones included
  std::size_t searched_ = 0;  // bytes at the front of the rest that hold no newline
  std::array<std::uint32_t, kPieceBytes + 1> positions_;
};

}  // namespace millrace
#pragma GCC visibility pop
