// SPDX-License-Identifier: Apache-2.0
#include "millrace/codec/decompressor.h"

#include "codec/gzip_decompressor.h"
#include "codec/zstd_decompressor.h"
#include "codec/zstd_frame_header.h"
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
  }
  return "unknown";
}

std::unique_ptr<Decompressor> make_decompressor(Codec codec, const DecompressorOptions& options) {
  MILLRACE_CHECK(codec != Codec::none, "plain bytes need no decompressor");
  if (codec == Codec::gzip) return std::make_unique<codec::GzipDecompressor>();
  return std::make_unique<codec::ZstdDecompressor>(options.zstd_window_log_max);
}

std::optional<Codec> codec_of_magic(std::string_view first_bytes) noexcept {
  if (first_bytes.starts_with("\x1F\x8B")) return Codec::gzip;
  if (first_bytes.size() >= 4 && codec::may_be_zstd_magic(first_bytes)) return Codec::zstd;
  return std::nullopt;
}

Codec codec_of_key(std::string_view key) noexcept {
  if (key.ends_with(".gz") || key.ends_with(".gzip")) return Codec::gzip;
  if (key.ends_with(".zst") || key.ends_with(".zstd")) return Codec::zstd;
  return Codec::none;
}

}  // namespace millrace
