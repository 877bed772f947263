// SPDX-License-Identifier: Apache-2.0
// Framer: cuts a byte stream into payloads. A pure function of the stream: the same frames however the bytes are cut
// into windows, since resume by record index depends on it. One per object, reset in between. Lane thread; one virtual
// call per window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/record/columns.h"

#pragma GCC visibility push(default)
namespace millrace {

/// What one call framed. Views of the window, kept in one vector that is reused.
using Frames = std::vector<std::string_view>;

class Framer {
 public:
  virtual ~Framer() = default;

  /// Appends to `frames` the complete records at the front of `window`, at most `max_frames` of them, and returns how
  /// many bytes of the window are done with (records, delimiters, skipped blanks). The rest comes again at the front of
  /// the next window, followed by more. With `end_of_stream` no more bytes follow, and calls go on until all of the
  /// window is consumed and one more has been made with the empty rest, which fails when something that the stream
  /// began is still open. The framer remembers how much of the unconsumed rest it has searched, so a long record is
  /// scanned once; the caller must therefore give the same rest again. kBytePadding bytes behind the window are
  /// readable. An error comes in a call that consumes nothing, and comes again when that call is repeated.
  [[nodiscard]] virtual Result<std::size_t> frame(std::string_view window, bool end_of_stream, std::size_t max_frames,
                                                  Frames& frames) = 0;
  /// Back to the beginning of a stream.
  virtual void reset() = 0;
  /// Where the last error lies: 1-based line for line formats, record index otherwise, for messages.
  [[nodiscard]] virtual std::uint64_t position() const = 0;
  /// What position() counts, for messages.
  [[nodiscard]] virtual std::string_view position_unit() const { return "line"; }
  /// What a decoder has to know of this stream to read its frames: null, but for formats of rows under a header once
  /// that is framed, which is before the first frame.
  [[nodiscard]] virtual std::shared_ptr<const Columns> columns() const { return nullptr; }
};

struct FramerOptions {
  std::size_t max_record_bytes =
      64U << 20U;  ///< a record longer than this is an error (too_large) before it is buffered whole
  CsvDialect csv;  ///< of format csv
};

/// Makes one framer per lane, for a format chosen by name.
using FramerFactory = std::unique_ptr<Framer> (*)(const FramerOptions&);

}  // namespace millrace
#pragma GCC visibility pop
