// SPDX-License-Identifier: Apache-2.0
#include "formats/json_array/framer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "millrace/base/printable.h"

namespace millrace::json_array {
namespace {

constexpr std::string_view kBom = "\xEF\xBB\xBF";

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_container(char first) { return first == '{' || first == '['; }
/// Of numbers and literals, sound or not: `NaN` is cut here and refused by the decoder.
bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+' || c == '.';
}

/// The string that begins at `begin` ends behind the returned byte; null when it does not before `end`. Goes on at
/// `from`.
const char* end_of_string(const char* begin, const char* from, const char* end) {
  for (from = std::max(from, begin + 1); from != end; ++from) {
    from = static_cast<const char*>(std::memchr(from, '"', static_cast<std::size_t>(end - from)));
    if (from == nullptr) return nullptr;
    const char* before = from;
    while (before[-1] == '\\') --before;  // stops at the string's own quote
    if ((from - before) % 2 == 0) return from + 1;
  }
  return nullptr;
}

std::string shown(char c) { return fmt::format("'{}'", printable(std::string_view(&c, 1))); }

}  // namespace

/// One call of frame(): a copy of the state goes ahead, and is kept where the call ends.
class JsonArrayFramer::Walk {
 public:
  Walk(const JsonArrayFramer& framer, std::string_view window, bool end_of_stream, Frames& frames)
      : max_record_bytes_(framer.max_record_bytes_),
        end_of_stream_(end_of_stream),
        element_(framer.elements_ + 1),
        state(framer.state_),
        done(window.data()),
        at_(done),
        end_(done + window.size()),
        frames_(frames) {}

  enum class Step { on, element, out_of_bytes, failed };
  Step step();
  /// Why step() failed.
  [[nodiscard]] Error error() && { return *std::move(error_); }

 private:
  Step skip_byte_order_mark();
  Step begin_array();
  Step begin_element();
  Step go_on_with_element();
  Step behind_element();
  Step behind_array();
  /// At something that is no blank; false when there is none.
  bool skip_blanks() {
    while (at_ != end_ && is_blank(*at_)) ++at_;
    done = at_;
    return at_ != end_;
  }
  Step refuse(ErrorCode code, std::string message) {
    error_ = Error::fatal(code, std::move(message));
    return Step::failed;
  }
  Step out_of_bytes();
  [[nodiscard]] const char* end_of_element();

  const std::size_t max_record_bytes_;
  const bool end_of_stream_;
  std::uint64_t element_;  // under way, or next
  std::optional<Error> error_;

 public:
  State state;
  const char* done;  ///< up to here the window is consumed

 private:
  const char* at_;
  const char* const end_;
  Frames& frames_;
};

JsonArrayFramer::Walk::Step JsonArrayFramer::Walk::step() {
  switch (state.expected) {
    case Expected::start:
      return skip_byte_order_mark();
    case Expected::array:
      return begin_array();
    case Expected::element_or_end:
    case Expected::element:
      return begin_element();
    case Expected::rest_of_element:
      return go_on_with_element();
    case Expected::comma_or_end:
      return behind_element();
    case Expected::nothing:
      break;
  }
  return behind_array();
}

/// Blanks may follow a BOM, a BOM may not follow blanks.
JsonArrayFramer::Walk::Step JsonArrayFramer::Walk::skip_byte_order_mark() {
  const std::string_view bytes(at_, std::min(kBom.size(), static_cast<std::size_t>(end_ - at_)));
  if (kBom.starts_with(bytes)) {
    if (bytes.size() < kBom.size() && !end_of_stream_) return Step::out_of_bytes;
    if (bytes.size() == kBom.size()) done = at_ += kBom.size();
  }
  state.expected = Expected::array;
  return Step::on;
}

JsonArrayFramer::Walk::Step JsonArrayFramer::Walk::begin_array() {
  // Blanks are done with as they come: however many there are, none is kept or looked at again.
  if (!skip_blanks()) return Step::out_of_bytes;
  if (*at_ == '[') {
    done = ++at_;
    state.expected = Expected::element_or_end;
    return Step::on;
  }
  return refuse(ErrorCode::malformed,
                fmt::format("not a JSON array: it begins with {}, not with '['; {}", shown(*at_),
                            *at_ == '{' ? "this looks like NDJSON, which format: ndjson reads, a document a line; one "
                                          "document alone is read by format: raw"
                                        : "choose the format that these objects have"));
}

JsonArrayFramer::Walk::Step JsonArrayFramer::Walk::begin_element() {
  if (!skip_blanks()) return out_of_bytes();
  const char first = *at_;
  if (is_container(first) || first == '"' || is_word(first)) {
    state = {Expected::rest_of_element, 0, {}};
    return Step::on;
  }
  if (first != ']') {
    return refuse(ErrorCode::malformed,
                  fmt::format("element {} of the array: expected a value, found {}", element_, shown(first)));
  }
  if (state.expected == Expected::element) {
    return refuse(ErrorCode::malformed,
                  fmt::format("element {} of the array: expected a value behind the comma, found ']'; JSON allows no "
                              "comma before the closing bracket",
                              element_));
  }
  done = ++at_;
  state.expected = Expected::nothing;
  return Step::on;
}

/// Behind the element that begins at `done`; null when it goes on behind the window.
const char* JsonArrayFramer::Walk::end_of_element() {
  const char* const from = done + state.searched;
  if (is_container(*done)) {
    const std::size_t size = state.container.scan(from, static_cast<std::size_t>(end_ - from));
    return state.container.closed() ? from + size : nullptr;
  }
  if (*done == '"') return end_of_string(done, from, end_);
  const char* end = from;
  while (end != end_ && is_word(*end)) ++end;
  return end == end_ ? nullptr : end;
}

JsonArrayFramer::Walk::Step JsonArrayFramer::Walk::go_on_with_element() {
  const char* const end = end_of_element();
  const auto size = static_cast<std::size_t>((end != nullptr ? end : end_) - done);
  if (size > max_record_bytes_) {
    return refuse(ErrorCode::too_large,
                  fmt::format("element {} of the array is longer than max_record_bytes: {}{} bytes, limit {}; raise "
                              "max_record_bytes, or check that the elements of the outermost array are the records",
                              element_, end != nullptr ? "" : "at least ", size, max_record_bytes_));
  }
  if (end == nullptr) {
    state.searched = size;
    at_ = end_;
    return out_of_bytes();
  }
  if (is_container(*done) && end[-1] != *done + 2) {
    return refuse(ErrorCode::malformed, fmt::format("element {} of the array begins with {} and ends with {}", element_,
                                                    shown(*done), shown(end[-1])));
  }
  frames_.emplace_back(done, size);
  ++element_;
  at_ = done = end;
  state = {Expected::comma_or_end, 0, {}};
  return Step::element;
}

JsonArrayFramer::Walk::Step JsonArrayFramer::Walk::behind_element() {
  if (!skip_blanks()) return out_of_bytes();
  if (*at_ != ',' && *at_ != ']') {
    return refuse(ErrorCode::malformed,
                  fmt::format("behind element {} of the array: expected ',' or ']', found {}{}", element_ - 1,
                              shown(*at_), is_container(*at_) ? "; elements are separated by commas" : ""));
  }
  state.expected = *at_ == ',' ? Expected::element : Expected::nothing;
  done = ++at_;
  return Step::on;
}

JsonArrayFramer::Walk::Step JsonArrayFramer::Walk::behind_array() {
  if (!skip_blanks()) return Step::out_of_bytes;
  return refuse(
      ErrorCode::malformed,
      fmt::format("behind the closing bracket of the array, which has {} elements: expected nothing, found {}; "
                  "{}",
                  element_ - 1, shown(*at_),
                  *at_ == '[' ? "an object holds one array; where there is an array a line, choose format: "
                                "ndjson and decode.json.framing: array"
                              : "remove what stands there"));
}

JsonArrayFramer::Walk::Step JsonArrayFramer::Walk::out_of_bytes() {
  if (!end_of_stream_) return Step::out_of_bytes;
  const std::string where = state.expected == Expected::rest_of_element ? fmt::format("inside element {}", element_)
                            : element_ == 1                             ? "behind its opening bracket"
                                            : fmt::format("behind element {}", element_ - 1);
  return refuse(ErrorCode::truncated, fmt::format("the array is not closed: the object ends {}", where));
}

Result<std::size_t> JsonArrayFramer::frame(std::string_view window, bool end_of_stream, std::size_t max_frames,
                                           Frames& frames) {
  Walk walk(*this, window, end_of_stream, frames);
  std::size_t framed = 0;
  const char* behind_last = nullptr;
  for (;;) {
    switch (walk.step()) {
      case Walk::Step::on:
        continue;
      case Walk::Step::element:
        behind_last = walk.done;
        if (++framed < max_frames) continue;
        break;
      case Walk::Step::out_of_bytes:
        break;
      case Walk::Step::failed:
        // Said by the next call when this one has something to say first.
        if (framed == 0) return fail(std::move(walk).error());
        elements_ += framed;
        state_ = {Expected::comma_or_end, 0, {}};
        return static_cast<std::size_t>(behind_last - window.data());
    }
    elements_ += framed;
    state_ = walk.state;
    return static_cast<std::size_t>(walk.done - window.data());
  }
}

void JsonArrayFramer::reset() {
  elements_ = 0;
  state_ = {};
}

std::unique_ptr<Framer> make_json_array_framer(const FramerOptions& options) {
  return std::make_unique<JsonArrayFramer>(options);
}

}  // namespace millrace::json_array
