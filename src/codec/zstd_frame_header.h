// SPDX-License-Identifier: Apache-2.0
// What stands at the beginning of a zstd frame (RFC 8878), skippable ones included: read before the frame is, so that a
// window too large or a dictionary is named instead of failing inside the library. Pure function, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace::codec {

struct ZstdFrameHeader {
  /// As many bytes as are needed to know all of it; more than were given when it is not known yet.
  std::size_t bytes = 0;
  bool skippable = false;
  std::uint64_t skippable_bytes = 0;  ///< of content, behind the header
  std::uint64_t window_bytes = 0;     ///< 0: not known yet
  std::uint32_t dictionary_id = 0;
};
inline constexpr std::size_t kMostZstdHeaderBytes = 18;

/// Reads as much as `begin` shows. Fails (corrupt) when no frame begins like that.
[[nodiscard]] Result<ZstdFrameHeader> read_zstd_frame_header(std::string_view begin);

/// True when `begin`, which may be short, could be the beginning of a frame.
[[nodiscard]] bool may_be_zstd_magic(std::string_view begin) noexcept;

}  // namespace millrace::codec
