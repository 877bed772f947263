// SPDX-License-Identifier: Apache-2.0
// The whole object as one record, its decoded bytes untouched. An object without bytes has no record, as everywhere
// (C01). Lane thread; owned by the FrameReader of a lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "millrace/framing/framer.h"

namespace millrace::raw {

class RawFramer final : public Framer {
 public:
  explicit RawFramer(const FramerOptions& options) : max_record_bytes_(options.max_record_bytes) {}

  /// Takes nothing before the end of the stream, so the window grows to the whole of it; too_large as soon as it is
  /// seen to.
  Result<std::size_t> frame(std::string_view window, bool end_of_stream, std::size_t max_frames,
                            Frames& frames) override;
  void reset() override {}
  [[nodiscard]] std::uint64_t position() const override { return 1; }
  [[nodiscard]] std::string_view position_unit() const override { return "record"; }

 private:
  const std::size_t max_record_bytes_;
};

/// The FramerFactory of format `raw`.
[[nodiscard]] std::unique_ptr<Framer> make_raw_framer(const FramerOptions& options);

}  // namespace millrace::raw
