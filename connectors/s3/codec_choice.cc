// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/codec_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

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

/// A token of Content-Encoding; the names that the codecs without a registered one are known by.
std::optional<Codec> codec_of_token(std::string_view token) {
  static constexpr std::array<std::pair<std::string_view, Codec>, 10> kTokens{{{"gzip", Codec::gzip},
                                                                               {"x-gzip", Codec::gzip},
                                                                               {"zstd", Codec::zstd},
                                                                               {"bzip2", Codec::bz2},
                                                                               {"x-bzip2", Codec::bz2},
                                                                               {"bz2", Codec::bz2},
                                                                               {"xz", Codec::xz},
                                                                               {"x-xz", Codec::xz},
                                                                               {"lz4", Codec::lz4},
                                                                               {"x-lz4", Codec::lz4}}};
  for (const auto& [name, codec] : kTokens) {
    if (name == token) return codec;
  }
  return std::nullopt;
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
    const std::optional<Codec> named = codec_of_token(token);
    if (!named || codec != Codec::none) {
      return fail(Error::fatal(
          ErrorCode::not_supported,
          fmt::format("its Content-Encoding has '{}'{}; gzip, zstd, bzip2, xz or lz4, once, can be undone. "
                      "Set compression to say how the stored bytes are to be read",
                      printable(token, 60), codec != Codec::none ? " on top of another one" : "")));
    }
    codec = *named;
  }
  return codec;
}

std::string_view ending_of(Codec codec) {
  switch (codec) {
    case Codec::none:
      return "";
    case Codec::gzip:
      return ".gz";
    case Codec::zstd:
      return ".zst";
    case Codec::bz2:
      return ".bz2";
    case Codec::xz:
      return ".xz";
    case Codec::lz4:
      return ".lz4";
  }
  return "";
}

/// Who says that an object is compressed.
enum class Claim { setting, name, header };

/// The claim is not borne out by the bytes: what they look like, and the way out that fits who made it.
Error lie(Claim by, Codec claimed, std::string_view claim, std::string_view bytes) {
  const std::optional<Codec> magic = codec_of_magic(bytes);
  std::string found = fmt::format("its bytes are not {}", to_string(claimed));
  if (magic) found += fmt::format("; they begin like {}", to_string(*magic));
  std::string way_out;
  switch (by) {
    case Claim::setting:
      way_out = "set compression: auto to decide for each object, or leave it out with exclude";
      break;
    case Claim::name:
      way_out = magic ? fmt::format("store it under a name that ends in {}, or set compression: {} if all objects are",
                                    ending_of(*magic), to_string(*magic))
                      : fmt::format(
                            "store it under a name that does not end in {}, or set compression: none to take "
                            "the bytes as they are",
                            ending_of(claimed));
      break;
    case Claim::header:
      way_out = magic
                    ? fmt::format("put the header right, or set compression: {} if all objects are", to_string(*magic))
                    : "store it without that header, or set compression: none to take the bytes as they are";
      break;
  }
  return Error::fatal(ErrorCode::corrupt, fmt::format("{}, but {}: {}", claim, found, way_out));
}

/// `codec`, if the bytes are its and it can be read here.
Result<Codec> borne_out(Claim by, Codec codec, std::string_view claim, std::string_view bytes) {
  if (!may_begin(codec, bytes)) return fail(lie(by, codec, claim, bytes));
  if (!codec_is_built(codec)) return fail(codec_not_built(codec).prefixed(fmt::format("{}, and ", claim)));
  return codec;
}

Error unmarked(Codec codec, std::string_view bytes) {
  // A skippable frame is zstd's as well as lz4's.
  const bool either = codec == Codec::zstd && may_begin(Codec::lz4, bytes);
  const std::string name = either ? "zstd (or lz4)" : std::string(to_string(codec));
  return Error::fatal(
      ErrorCode::corrupt,
      fmt::format("its bytes begin like {}, but neither its name nor a Content-Encoding says so: store it under a name "
                  "that ends in {}, set compression: {} if all objects are, or none to take the bytes as they are",
                  name, ending_of(codec), name));
}

}  // namespace

std::optional<Codec> codec_of_setting(ObjectCodec setting) noexcept {
  switch (setting) {
    case ObjectCodec::auto_detect:
      return std::nullopt;
    case ObjectCodec::none:
      return Codec::none;
    case ObjectCodec::gzip:
      return Codec::gzip;
    case ObjectCodec::zstd:
      return Codec::zstd;
    case ObjectCodec::bz2:
      return Codec::bz2;
    case ObjectCodec::xz:
      return Codec::xz;
    case ObjectCodec::lz4:
      return Codec::lz4;
  }
  return std::nullopt;
}

Result<Codec> choose_codec(ObjectCodec setting, std::string_view key, std::string_view content_encoding,
                           std::string_view first_bytes) {
  if (const std::optional<Codec> fixed = codec_of_setting(setting)) {
    if (*fixed == Codec::none) return Codec::none;
    return borne_out(Claim::setting, *fixed, fmt::format("compression: {} holds for every object", to_string(*fixed)),
                     first_bytes);
  }
  // The same gzip is often said twice, by name and by header; it is undone once.
  const Result<Codec> encoding = codec_of_encoding(content_encoding);
  if (const Codec named = codec_of_key(key); named != Codec::none) {
    std::string claim = fmt::format("its name ends like {}", to_string(named));
    if (encoding && *encoding != Codec::none) {
      claim += fmt::format(" and its Content-Encoding says {}", to_string(*encoding));
    }
    return borne_out(Claim::name, named, claim, first_bytes);
  }
  if (!encoding) return encoding;
  if (*encoding != Codec::none) {
    return borne_out(Claim::header, *encoding, fmt::format("its Content-Encoding says {}", to_string(*encoding)),
                     first_bytes);
  }
  if (const auto magic = codec_of_magic(first_bytes)) return fail(unmarked(*magic, first_bytes));
  return Codec::none;
}

}  // namespace millrace::s3_source
