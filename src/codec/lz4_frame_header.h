// SPDX-License-Identifier: Apache-2.0
// What stands at the beginning of an lz4 frame, skippable ones included: where its parts end, so that the library is
// given one part at a time, and what it does not say (a dictionary, the format of before 2013). Pure function, any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace::codec {

struct Lz4FrameHeader {
  /// As many bytes as are needed to know all of it; more than were given when it is not known yet.
  std::size_t bytes = 0;
  bool skippable = false;
  std::uint64_t skippable_bytes = 0;  ///< of content, behind the header
  bool block_checksums = false;
  bool content_checksum = false;
  bool dictionary = false;
  bool legacy = false;
};
inline constexpr std::size_t kMostLz4HeaderBytes = 19;

/// Reads as much as `begin` shows. Fails (corrupt) when no frame begins like that.
[[nodiscard]] Result<Lz4FrameHeader> read_lz4_frame_header(std::string_view begin);

/// True when `begin`, which may be short, could be the beginning of a frame.
[[nodiscard]] bool may_be_lz4_magic(std::string_view begin) noexcept;

}  // namespace millrace::codec
