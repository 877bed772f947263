// SPDX-License-Identifier: Apache-2.0
#include "millrace/framing/line_framer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "framing/newline_index.h"

namespace millrace {
namespace {

constexpr std::string_view kBom = "\xEF\xBB\xBF";

bool is_blank(const char* bytes, std::size_t size) {
  return std::all_of(bytes, bytes + size, [](char c) { return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n'); });
}

std::size_t without_cr(const char* bytes, std::size_t size) { return size - (size != 0 && bytes[size - 1] == '\r'); }

}  // namespace

LineFramer::LineFramer(const FramerOptions& options, LineRules rules)
    : max_record_bytes_(options.max_record_bytes), rules_(rules), find_newlines_(framing::find_newlines()) {}

Result<std::size_t> LineFramer::frame(std::string_view window, bool end_of_stream, std::size_t max_frames,
                                      Frames& frames) {
  const char* const bytes = window.data();
  const std::size_t size = window.size();
  std::size_t line = 0;  // where the line under way begins
  if (at_start_ && rules_.skip_byte_order_mark) [[unlikely]] {
    const std::string_view seen = window.substr(0, kBom.size());
    const bool is_bom = kBom.starts_with(seen);
    if (is_bom && seen.size() < kBom.size() && !end_of_stream) return 0;
    at_start_ = false;
    if (is_bom && seen.size() == kBom.size()) line = kBom.size();
  }
  std::size_t searched = line + searched_;
  std::size_t room = max_frames;
  searched_ = 0;
  while (searched < size && room != 0) {
    // Few frames are looked for in small pieces, since what is found behind the last one is forgotten.
    const std::size_t most = std::clamp<std::size_t>(128 * std::min(room, kPieceBytes), 512, kPieceBytes);
    const std::size_t piece = std::min(most, size - searched);
    const std::size_t count = find_newlines_(bytes + searched, piece, positions_.data());

    const std::size_t before = frames.size();
    frames.resize(before + std::min(count, room));
    std::string_view* out = frames.data() + before;
    const std::string_view* const out_end = frames.data() + frames.size();
    std::size_t i = 0;
    bool too_long = false;
    for (; i < count && out != out_end; ++i) {
      const char* const begin = bytes + line;
      const std::size_t end = searched + positions_[i];
      const std::size_t length = without_cr(begin, end - line);
      if (length > max_record_bytes_) [[unlikely]] {
        too_long = true;
        break;
      }
      line = end + 1;
      // Whatever can begin a blank line is at most a space; of the lines that do, few are blank.
      if (static_cast<unsigned char>(*begin) <= ' ' && !rules_.blank_lines_are_records && is_blank(begin, length))
          [[unlikely]]
        continue;
      *out++ = {begin, length};
    }
    const auto taken = static_cast<std::size_t>(out - (frames.data() + before));
    frames.resize(before + taken);
    room -= taken;
    lines_ += i;
    if (i < count && !too_long) return line;
    if (too_long || without_cr(bytes + line, searched + piece - line) > max_record_bytes_) [[unlikely]] {
      // Said by the next call when this one has something to say first.
      if (line != 0) return line;
      const std::size_t so_far = too_long ? searched + positions_[i] : searched + piece;
      return fail(too_large(without_cr(bytes, so_far), too_long));
    }
    searched += piece;
  }
  searched_ = searched - line;
  if (searched < size || !end_of_stream || line == size || room == 0) return line;
  const char* const begin = bytes + line;
  const std::size_t length = without_cr(begin, size - line);
  if (rules_.blank_lines_are_records || !is_blank(begin, length)) frames.emplace_back(begin, length);
  ++lines_;
  searched_ = 0;
  return size;
}

void LineFramer::reset() {
  at_start_ = true;
  lines_ = 0;
  searched_ = 0;
}

Error LineFramer::too_large(std::size_t bytes_so_far, bool whole) const {
  return Error::fatal(
      ErrorCode::too_large,
      fmt::format("line {} is longer than max_record_bytes: {}{} bytes, limit {}; raise max_record_bytes, "
                  "or check that the data is one record per line",
                  position(), whole ? "" : "at least ", bytes_so_far, max_record_bytes_));
}

}  // namespace millrace
