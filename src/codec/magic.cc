// SPDX-License-Identifier: Apache-2.0
// What tells a codec: the first bytes (RFC 1952, RFC 8878, the file formats of bzip2, xz and lz4) and the end of a key.
#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "codec/lz4_frame_header.h"
#include "codec/zstd_frame_header.h"
#include "millrace/codec/decompressor.h"

namespace millrace {
namespace {

constexpr std::string_view kGzip = "\x1F\x8B";
constexpr std::string_view kXz{"\xFD\x37\x7A\x58\x5A\x00", 6};
// Behind BZh and the level comes the first block, or the end of a stream without any. Less than all of it is no magic
// number: it is text.
constexpr std::string_view kBz2 = "BZh";
constexpr std::size_t kBz2Block = 4;
constexpr std::string_view kBz2FirstBlock = "\x31\x41\x59\x26\x53\x59";
constexpr std::string_view kBz2End = "\x17\x72\x45\x38\x50\x90";

bool agrees(std::string_view magic, std::string_view bytes) {
  const std::size_t both = std::min(magic.size(), bytes.size());
  return magic.substr(0, both) == bytes.substr(0, both);
}

bool may_begin_bz2(std::string_view bytes) {
  if (!agrees(kBz2, bytes)) return false;
  if (bytes.size() < kBz2Block) return true;
  const char level = bytes[kBz2Block - 1];
  const std::string_view block = bytes.substr(kBz2Block);
  return level >= '1' && level <= '9' && (agrees(kBz2FirstBlock, block) || agrees(kBz2End, block));
}

std::size_t magic_bytes(Codec codec) {
  switch (codec) {
    case Codec::gzip:
      return kGzip.size();
    case Codec::bz2:
      return kBz2Block + kBz2FirstBlock.size();
    case Codec::xz:
      return kXz.size();
    default:
      return 4;
  }
}

}  // namespace

bool may_begin(Codec codec, std::string_view first_bytes) noexcept {
  if (first_bytes.empty()) return true;
  switch (codec) {
    case Codec::none:
      return true;
    case Codec::gzip:
      return agrees(kGzip, first_bytes);
    case Codec::zstd:
      return codec::may_be_zstd_magic(first_bytes);
    case Codec::bz2:
      return may_begin_bz2(first_bytes);
    case Codec::xz:
      return agrees(kXz, first_bytes);
    case Codec::lz4:
      return codec::may_be_lz4_magic(first_bytes);
  }
  return false;
}

std::optional<Codec> codec_of_magic(std::string_view first_bytes) noexcept {
  for (const Codec codec : kCodecs) {
    if (first_bytes.size() >= magic_bytes(codec) && may_begin(codec, first_bytes)) return codec;
  }
  return std::nullopt;
}

Codec codec_of_key(std::string_view key) noexcept {
  static constexpr std::array<std::pair<std::string_view, Codec>, 7> kEndings{{{".gz", Codec::gzip},
                                                                               {".gzip", Codec::gzip},
                                                                               {".zst", Codec::zstd},
                                                                               {".zstd", Codec::zstd},
                                                                               {".bz2", Codec::bz2},
                                                                               {".xz", Codec::xz},
                                                                               {".lz4", Codec::lz4}}};
  for (const auto& [ending, codec] : kEndings) {
    if (key.ends_with(ending)) return codec;
  }
  return Codec::none;
}

}  // namespace millrace
