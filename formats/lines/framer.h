// SPDX-License-Identifier: Apache-2.0
// Text by the line: one record per line, as LineFramer cuts lines. Every line is a record, an empty one and one of
// blanks too, and a UTF-8 BOM is part of the first one: nothing is known of what a line means, so nothing is left out,
// and line n of an object is its record n. A line stands for itself; none is joined to the one before. Lane thread;
// owned by the FrameReader of a lane.
#pragma once

#include <memory>

#include "millrace/framing/framer.h"

namespace millrace::lines {

/// The FramerFactory of format `lines`.
[[nodiscard]] std::unique_ptr<Framer> make_line_framer(const FramerOptions& options);

}  // namespace millrace::lines
