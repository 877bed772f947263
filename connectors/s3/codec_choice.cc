// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/codec_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "millrace/base/printable.h"

namespace millrace::s3_source {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

/// What the header says was done to the bytes. aws-chunked is about how they travelled and identity about nothing
/// (D09).
Result<Codec> codec_of_encoding(std::string_view header) {
  Codec codec = Codec::none;
  while (!header.empty()) {
    const std::size_t comma = std::min(header.find(','), header.size());
    const std::string token = lower(trimmed(header.substr(0, comma)));
    header.remove_prefix(std::min(comma + 1, header.size()));
    if (token.empty() || token == "aws-chunked" || token == "identity") continue;
    const bool gzip = token == "gzip" || token == "x-gzip";
    if ((!gzip && token != "zstd") || codec != Codec::none) {
      return fail(
          Error::fatal(ErrorCode::not_supported,
                       fmt::format("its Content-Encoding has '{}'{}; gzip or zstd, once, can be undone. Set "
                                   "compression to say how the stored bytes are to be read",
                                   printable(token, 60), codec != Codec::none ? " on top of another one" : "")));
    }
    codec = gzip ? Codec::gzip : Codec::zstd;
  }
  return codec;
}

/// True when bytes may be (the beginning of) what `codec` writes; fewer bytes than a magic number are judged by the
/// decompressor, which knows that they are cut short (D04).
bool may_begin(Codec codec, std::string_view bytes) {
  const std::string_view gzip_magic = "\x1f\x8b";
  const std::string_view zstd_magic = "\x28\xb5\x2f\xfd";
  if (codec == Codec::gzip) return bytes.substr(0, 2) == gzip_magic.substr(0, bytes.size());
  return bytes.size() < 4 ? bytes == zstd_magic.substr(0, bytes.size()) || (bytes[0] & '\xf0') == '\x50'
                          : codec_of_magic(bytes) == Codec::zstd;
}

Error not_that(Codec codec, std::string_view why) {
  return Error::fatal(ErrorCode::corrupt,
                      fmt::format("{}, but its bytes are not {}: store it under another name, or set "
                                  "compression: none to take the bytes as they are",
                                  why, to_string(codec)));
}

}  // namespace

Result<Codec> choose_codec(ObjectCodec setting, std::string_view key, std::string_view content_encoding,
                           std::string_view first_bytes) {
  switch (setting) {
    case ObjectCodec::none:
      return Codec::none;
    case ObjectCodec::gzip:
    case ObjectCodec::zstd: {
      const Codec codec = setting == ObjectCodec::gzip ? Codec::gzip : Codec::zstd;
      if (!first_bytes.empty() && !may_begin(codec, first_bytes)) {
        return fail(not_that(codec, fmt::format("compression: {} holds for every object", to_string(codec))));
      }
      return codec;
    }
    case ObjectCodec::auto_detect:
      break;
  }
  // The same gzip is often said twice, by name and by header; it is undone once.
  Codec codec = codec_of_key(key);
  std::string why = codec == Codec::none ? "" : fmt::format("its name ends like {}", to_string(codec));
  if (codec == Codec::none) {
    MILLRACE_ASSIGN(codec, codec_of_encoding(content_encoding));
    if (codec != Codec::none) why = fmt::format("its Content-Encoding says {}", to_string(codec));
  }
  if (first_bytes.empty()) return codec;
  if (codec != Codec::none) {
    if (!may_begin(codec, first_bytes)) return fail(not_that(codec, why));
    return codec;
  }
  if (const std::optional<Codec> magic = codec_of_magic(first_bytes); magic && *magic != Codec::none) {
    return fail(
        Error::fatal(ErrorCode::corrupt,
                     fmt::format("its bytes begin like {}, but neither its name nor a Content-Encoding says so: set "
                                 "compression: {} for all objects, or none to take the bytes as they are",
                                 to_string(*magic), to_string(*magic))));
  }
  return Codec::none;
}

}  // namespace millrace::s3_source
