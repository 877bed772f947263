// SPDX-License-Identifier: Apache-2.0
#include "codec/optional_codecs.h"

#include <fmt/format.h>

#ifdef MILLRACE_CODEC_BZ2
#include "codec/bz2_stream.h"
#endif
#ifdef MILLRACE_CODEC_LZ4
#include "codec/lz4_frame.h"
#endif
#ifdef MILLRACE_CODEC_XZ
#include "codec/xz_stream.h"
#endif

namespace millrace {
namespace codec {

// The options are xz's only; the rest is bounded by its format.
std::unique_ptr<Decompressor> make_optional_decompressor(Codec codec,
                                                         [[maybe_unused]] const DecompressorOptions& options) {
  switch (codec) {
#ifdef MILLRACE_CODEC_BZ2
    case Codec::bz2:
      return std::make_unique<StreamSequence>(
          StreamFormat{.codec = Codec::bz2, .unit = "stream", .may_begin = Bz2Stream::may_begin},
          std::make_unique<Bz2Stream>());
#endif
#ifdef MILLRACE_CODEC_XZ
    case Codec::xz:  // whose stream padding comes in fours
      return std::make_unique<StreamSequence>(
          StreamFormat{.codec = Codec::xz, .unit = "stream", .may_begin = XzStream::may_begin, .padding_unit = 4},
          std::make_unique<XzStream>(options.xz_memory_limit));
#endif
#ifdef MILLRACE_CODEC_LZ4
    case Codec::lz4:
      return std::make_unique<StreamSequence>(
          StreamFormat{.codec = Codec::lz4, .unit = "frame", .may_begin = Lz4Frame::may_begin},
          std::make_unique<Lz4Frame>());
#endif
    default:
      return nullptr;
  }
}

}  // namespace codec

bool codec_is_built(Codec codec) noexcept {
  switch (codec) {
#ifndef MILLRACE_CODEC_BZ2
    case Codec::bz2:
      return false;
#endif
#ifndef MILLRACE_CODEC_XZ
    case Codec::xz:
      return false;
#endif
#ifndef MILLRACE_CODEC_LZ4
    case Codec::lz4:
      return false;
#endif
    default:
      return true;
  }
}

Error codec_not_built(Codec codec) {
  const std::string_view library = codec == Codec::bz2 ? "libbz2" : codec == Codec::xz ? "liblzma" : "liblz4";
  return Error::fatal(
      ErrorCode::not_supported,
      fmt::format("this build cannot read {0}: {1} was not found when it was made. Install {1} with its "
                  "headers and build again, or decompress the objects before they are read",
                  to_string(codec), library));
}

}  // namespace millrace
