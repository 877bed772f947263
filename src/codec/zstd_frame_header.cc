// SPDX-License-Identifier: Apache-2.0
#include "codec/zstd_frame_header.h"

#include <fmt/format.h>

#include <array>

namespace millrace::codec {
namespace {

constexpr std::string_view kMagic = "\x28\xB5\x2F\xFD";
constexpr std::string_view kSkippableTail = "\x2A\x4D\x18";  // behind a byte 5x
constexpr std::size_t kMagicBytes = 4;

std::uint8_t byte_at(std::string_view bytes, std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); }

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) number = number << 8U | byte_at(bytes, i);
  return number;
}

}  // namespace

bool may_be_zstd_magic(std::string_view begin) noexcept {
  const std::string_view magic = begin.substr(0, kMagicBytes);
  if (kMagic.starts_with(magic)) return true;
  return (byte_at(magic, 0) & 0xF0U) == 0x50 && kSkippableTail.starts_with(magic.substr(1));
}

Result<ZstdFrameHeader> read_zstd_frame_header(std::string_view begin) {
  if (!may_be_zstd_magic(begin)) {
    return fail(Error::fatal(ErrorCode::corrupt, "no zstd frame begins here (28 b5 2f fd, or 5x 2a 4d 18)"));
  }
  ZstdFrameHeader header;
  header.bytes = kMagicBytes + 1;
  if (begin.size() < kMagicBytes) return header;
  header.skippable = begin.front() != kMagic.front();
  if (header.skippable) {
    header.bytes = kMagicBytes + 4;
    if (begin.size() >= header.bytes) header.skippable_bytes = little_endian(begin.substr(kMagicBytes, 4));
    return header;
  }
  if (begin.size() < header.bytes) return header;

  const std::uint8_t descriptor = byte_at(begin, kMagicBytes);
  constexpr std::array<std::size_t, 4> kDictionaryBytes{0, 1, 2, 4};
  constexpr std::array<std::size_t, 4> kContentSizeBytes{0, 2, 4, 8};
  const bool single_segment = (descriptor & 0x20U) != 0;
  const std::size_t window_at = kMagicBytes + 1;
  const std::size_t dictionary_at = window_at + (single_segment ? 0 : 1);
  const std::size_t dictionary_bytes = kDictionaryBytes[descriptor & 3U];
  const std::size_t content_at = dictionary_at + dictionary_bytes;
  std::size_t content_bytes = kContentSizeBytes[descriptor >> 6U];
  if (content_bytes == 0 && single_segment) content_bytes = 1;
  if ((descriptor & 8U) != 0) {
    return fail(Error::fatal(ErrorCode::corrupt,
                             fmt::format("the reserved bit of frame header descriptor {:02x} is set", descriptor)));
  }
  header.bytes = content_at + content_bytes;
  if (!single_segment && begin.size() > window_at) {
    const std::uint8_t window = byte_at(begin, window_at);
    const std::uint64_t base = std::uint64_t{1} << (10U + (window >> 3U));
    header.window_bytes = base + base / 8 * (window & 7U);
  }
  if (begin.size() >= header.bytes) {
    header.dictionary_id = static_cast<std::uint32_t>(little_endian(begin.substr(dictionary_at, dictionary_bytes)));
    if (single_segment) {
      const std::uint64_t content = little_endian(begin.substr(content_at, content_bytes));
      header.window_bytes = content_bytes == 2 ? content + 256 : content;
    }
  }
  return header;
}

}  // namespace millrace::codec
