// SPDX-License-Identifier: Apache-2.0
// Decompressor: compressed bytes to plain bytes, as a stream, for one object. Reads every gzip member, every zstd and
// lz4 frame, every bz2 and xz stream. Lane thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "millrace/base/result.h"

#pragma GCC visibility push(default)
namespace millrace {

enum class Codec { none, gzip, zstd, bz2, xz, lz4 };
/// All but none.
inline constexpr std::array kCodecs{Codec::gzip, Codec::zstd, Codec::bz2, Codec::xz, Codec::lz4};
[[nodiscard]] std::string_view to_string(Codec) noexcept;

class Decompressor {
 public:
  virtual ~Decompressor() = default;

  struct Progress {
    std::size_t consumed = 0;  ///< bytes taken from the front of `input`
    std::size_t produced = 0;  ///< bytes written to the front of `output`
  };
  /// Decodes from `input` into `output` until one of them is used up; what is not consumed is given again. Output that
  /// was produced before an error is reported by the call before. Errors (corrupt) name the offset in the compressed
  /// stream; the caller adds the key.
  [[nodiscard]] virtual Result<Progress> decompress(std::string_view input, std::span<char> output) = 0;
  /// The compressed stream has ended: fails (truncated) when a member or frame is open. Zero bytes in all is a whole,
  /// empty stream; one byte or more that is not a whole stream is not (D04).
  [[nodiscard]] virtual Result<void> finish() = 0;
  /// Back to the beginning, for the next object; keeps its memory where the library can.
  virtual void reset() = 0;
  /// Compressed bytes taken since the beginning.
  [[nodiscard]] virtual std::uint64_t consumed_total() const = 0;
  /// Zero bytes that followed the last member or frame (tolerated): the caller warns once.
  [[nodiscard]] virtual std::uint64_t trailing_zeros() const = 0;
};

/// Bounds of what one decompressor holds. gzip, bz2 and lz4 need none: 0.1, 3.7 and 8.2 MiB at most, by their formats.
struct DecompressorOptions {
  int zstd_window_log_max = 27;  ///< 10 to 31; a frame that needs more is refused, naming the option
  std::uint64_t xz_memory_limit = std::uint64_t{128} << 20U;  ///< bytes; a stream that needs more is refused likewise
};
/// Bytes that one decompressor of `codec` holds at most; 0 for none.
[[nodiscard]] std::uint64_t decompressor_memory(Codec codec, const DecompressorOptions& options) noexcept;
/// `codec` is not none, and built.
[[nodiscard]] std::unique_ptr<Decompressor> make_decompressor(Codec codec, const DecompressorOptions& options);

/// False for a codec whose library was not found when this was built: bz2, xz and lz4 are optional.
[[nodiscard]] bool codec_is_built(Codec codec) noexcept;
/// What to tell who wants a codec that is not built (not_supported).
[[nodiscard]] Error codec_not_built(Codec codec);

/// What the first bytes say, sixteen or all there are. nullopt: nothing that is read here, or too few bytes. A
/// skippable frame (5x 2a 4d 18) is taken for zstd's, though lz4 has the same.
[[nodiscard]] std::optional<Codec> codec_of_magic(std::string_view first_bytes) noexcept;
/// True when `first_bytes`, which may be cut short anywhere, may be the beginning of what `codec` writes.
[[nodiscard]] bool may_begin(Codec codec, std::string_view first_bytes) noexcept;
/// By the end of the key: .gz .gzip, .zst .zstd, .bz2, .xz, .lz4; none otherwise.
[[nodiscard]] Codec codec_of_key(std::string_view key) noexcept;

}  // namespace millrace
#pragma GCC visibility pop
