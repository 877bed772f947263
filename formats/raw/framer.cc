// SPDX-License-Identifier: Apache-2.0
#include "formats/raw/framer.h"

#include <fmt/format.h>

namespace millrace::raw {

Result<std::size_t> RawFramer::frame(std::string_view window, bool end_of_stream, std::size_t /*max_frames*/,
                                     Frames& frames) {
  if (window.size() > max_record_bytes_) {
    return fail(Error::fatal(
        ErrorCode::too_large,
        fmt::format("format raw makes one record of the whole object, which is longer than max_record_bytes: {}{} "
                    "bytes, limit {}; raise max_record_bytes, or choose a format that cuts the object into records",
                    end_of_stream ? "" : "at least ", window.size(), max_record_bytes_)));
  }
  if (!end_of_stream || window.empty()) return 0;
  frames.push_back(window);
  return window.size();
}

std::unique_ptr<Framer> make_raw_framer(const FramerOptions& options) { return std::make_unique<RawFramer>(options); }

}  // namespace millrace::raw
