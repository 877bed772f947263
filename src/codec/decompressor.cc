// SPDX-License-Identifier: Apache-2.0
#include "millrace/codec/decompressor.h"

#include "codec/gzip_decompressor.h"
#include "codec/optional_codecs.h"
#include "codec/zstd_decompressor.h"
#include "millrace/base/check.h"

namespace millrace {

std::string_view to_string(Codec codec) noexcept {
  switch (codec) {
    case Codec::none:
      return "none";
    case Codec::gzip:
      return "gzip";
    case Codec::zstd:
      return "zstd";
    case Codec::bz2:
      return "bz2";
    case Codec::xz:
      return "xz";
    case Codec::lz4:
      return "lz4";
  }
  return "unknown";
}

std::uint64_t decompressor_memory(Codec codec, const DecompressorOptions& options) noexcept {
  constexpr std::uint64_t kKi = 1U << 10U;
  switch (codec) {
    case Codec::none:
      return 0;
    case Codec::gzip:  // isa-l's inflate_state with the history in it, and what is gathered of a header
      return 128 * kKi;
    case Codec::zstd:  // the window, and what ZSTD_estimateDStreamSize adds to it: tables and two blocks
      return (std::uint64_t{1} << static_cast<unsigned>(options.zstd_window_log_max)) + 1024 * kKi;
    case Codec::bz2:  // bzip2's manual: 100 kB, and four times the largest block of 900 kB
      return 3800 * kKi;
    case Codec::xz:
      return options.xz_memory_limit;
    case Codec::lz4:  // two of the largest blocks of 4 MiB, and windows of 64 KiB beside them
      return 8400 * kKi;
  }
  return 0;
}

std::unique_ptr<Decompressor> make_decompressor(Codec codec, const DecompressorOptions& options) {
  MILLRACE_CHECK(codec != Codec::none, "plain bytes need no decompressor");
  if (codec == Codec::gzip) return std::make_unique<codec::GzipDecompressor>();
  if (codec == Codec::zstd) return std::make_unique<codec::ZstdDecompressor>(options.zstd_window_log_max);
  auto optional = codec::make_optional_decompressor(codec, options);
  MILLRACE_CHECK(optional != nullptr, "who wants a codec asks first whether it is built");
  return optional;
}

}  // namespace millrace
