// SPDX-License-Identifier: Apache-2.0
// NDJSON framing: one record per line. Lines end at LF or CRLF (exactly one CR is stripped, also from an unterminated
// last line); lines of whitespace alone (space, \t, \r, \v, \f) are skipped and are no records; an unterminated last
// line is a record; a UTF-8 BOM at the start of the stream is skipped; every other byte, NUL and invalid UTF-8
// included, passes. Lane thread; owned by the FrameReader of a lane.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "formats/ndjson/newline_index.h"
#include "millrace/framing/framer.h"

namespace millrace::ndjson {

class NdjsonFramer final : public Framer {
 public:
  explicit NdjsonFramer(const FramerOptions& options) : max_record_bytes_(options.max_record_bytes) {}

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
  const FindNewlines find_newlines_ = find_newlines();
  bool at_start_ = true;
  std::uint64_t lines_ = 0;   // done with, blank ones included
  std::size_t searched_ = 0;  // bytes at the front of the rest that hold no newline
  std::array<std::uint32_t, kPieceBytes + 1> positions_;
};

/// The FramerFactory of format `ndjson`.
[[nodiscard]] std::unique_ptr<Framer> make_ndjson_framer(const FramerOptions& options);

}  // namespace millrace::ndjson
