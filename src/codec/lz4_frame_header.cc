// SPDX-License-Identifier: Apache-2.0
#include "codec/lz4_frame_header.h"

namespace millrace::codec {
namespace {

constexpr std::string_view kMagic = "\x04\x22\x4D\x18";
constexpr std::string_view kLegacyMagic = "\x02\x21\x4C\x18";
constexpr std::string_view kSkippableTail = "\x2A\x4D\x18";  // behind a byte 5x
constexpr std::size_t kMagicBytes = 4;

std::uint8_t byte_at(std::string_view bytes, std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); }

}  // namespace

bool may_be_lz4_magic(std::string_view begin) noexcept {
  const std::string_view magic = begin.substr(0, kMagicBytes);
  if (kMagic.starts_with(magic) || kLegacyMagic.starts_with(magic)) return true;
  return (byte_at(magic, 0) & 0xF0U) == 0x50 && kSkippableTail.starts_with(magic.substr(1));
}

Result<Lz4FrameHeader> read_lz4_frame_header(std::string_view begin) {
  if (!may_be_lz4_magic(begin)) {
    return fail(Error::fatal(ErrorCode::corrupt, "no lz4 frame begins here (04 22 4d 18, or 5x 2a 4d 18)"));
  }
  Lz4FrameHeader header;
  header.bytes = kMagicBytes + 1;
  if (begin.size() < kMagicBytes) return header;
  if (begin.starts_with(kLegacyMagic)) {
    header.legacy = true;
    header.bytes = kMagicBytes;
    return header;
  }
  if (!begin.starts_with(kMagic)) {
    header.skippable = true;
    header.bytes = kMagicBytes + 4;
    if (begin.size() < header.bytes) return header;
    for (std::size_t i = 4; i-- > 0;) {
      header.skippable_bytes = header.skippable_bytes << 8U | byte_at(begin, kMagicBytes + i);
    }
    return header;
  }
  if (begin.size() < header.bytes) return header;
  const std::uint8_t flags = byte_at(begin, kMagicBytes);
  header.block_checksums = (flags & 0x10U) != 0;
  const bool content_size = (flags & 0x08U) != 0;
  header.content_checksum = (flags & 0x04U) != 0;
  header.dictionary = (flags & 0x01U) != 0;
  // Flags, block size, content size, dictionary id, checksum of the header.
  header.bytes = kMagicBytes + 2 + (content_size ? 8 : 0) + (header.dictionary ? 4 : 0) + 1;
  return header;
}

}  // namespace millrace::codec
