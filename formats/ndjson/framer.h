// SPDX-License-Identifier: Apache-2.0
// NDJSON framing: one record per line, as LineFramer cuts lines. Lines of whitespace alone (space, \t, \r, \v, \f) are
// skipped and are no records; a UTF-8 BOM at the start of the stream is skipped. Lane thread; owned by the FrameReader
// of a lane.
#pragma once

#include <memory>

#include "millrace/framing/line_framer.h"

namespace millrace::ndjson {

class NdjsonFramer final : public LineFramer {
 public:
  explicit NdjsonFramer(const FramerOptions& options)
      : LineFramer(options, {.blank_lines_are_records = false, .skip_byte_order_mark = true}) {}
};

/// The FramerFactory of format `ndjson`.
[[nodiscard]] std::unique_ptr<Framer> make_ndjson_framer(const FramerOptions& options);

}  // namespace millrace::ndjson
