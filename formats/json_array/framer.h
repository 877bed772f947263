// SPDX-License-Identifier: Apache-2.0
// One JSON array per object; each element is a record, handed out as soon as it is whole, spelled as it came. What
// stands between elements is checked here (brackets, commas, blanks, nothing behind the end); an element's own text is
// cut by its brackets and quotes and judged by the decoder. A UTF-8 BOM at the start is skipped; an object of blanks
// alone has no records. Lane thread; owned by the FrameReader of a lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "formats/json_array/container_scan.h"
#include "millrace/framing/framer.h"

namespace millrace::json_array {

class JsonArrayFramer final : public Framer {
 public:
  explicit JsonArrayFramer(const FramerOptions& options) : max_record_bytes_(options.max_record_bytes) {}

  Result<std::size_t> frame(std::string_view window, bool end_of_stream, std::size_t max_frames,
                            Frames& frames) override;
  void reset() override;
  /// The element that comes next, counted from 1.
  [[nodiscard]] std::uint64_t position() const override { return elements_ + 1; }
  [[nodiscard]] std::string_view position_unit() const override { return "element"; }

 private:
  /// What comes next.
  enum class Expected : std::uint8_t { start, array, element_or_end, element, rest_of_element, comma_or_end, nothing };
  struct State {
    Expected expected = Expected::start;
    std::size_t searched = 0;  ///< of the element at the front of the rest
    ContainerScan container;   ///< of that element, when it is one
  };
  class Walk;

  const std::size_t max_record_bytes_;
  std::uint64_t elements_ = 0;  // handed out
  State state_;                 // at the front of the rest
};

/// The FramerFactory of format `json_array`.
[[nodiscard]] std::unique_ptr<Framer> make_json_array_framer(const FramerOptions& options);

}  // namespace millrace::json_array
