// SPDX-License-Identifier: Apache-2.0
#include "formats/lines/framer.h"

#include "millrace/framing/line_framer.h"

namespace millrace::lines {

std::unique_ptr<Framer> make_line_framer(const FramerOptions& options) {
  return std::make_unique<LineFramer>(options,
                                      LineRules{.blank_lines_are_records = true, .skip_byte_order_mark = false});
}

}  // namespace millrace::lines
