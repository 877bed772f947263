// SPDX-License-Identifier: Apache-2.0
// Decompressor: compressed bytes to plain bytes, as a stream, for one object. Reads every gzip member and every zstd
// frame. Lane thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace {

enum class Codec { none, gzip, zstd };
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
  /// Back to the beginning, for the next object; keeps its memory.
  virtual void reset() = 0;
  /// Compressed bytes taken since the beginning.
  [[nodiscard]] virtual std::uint64_t consumed_total() const = 0;
  /// Zero bytes that followed the last member or frame (tolerated, rulings.md 4): the caller warns once.
  [[nodiscard]] virtual std::uint64_t trailing_zeros() const = 0;
};

struct DecompressorOptions {
  int zstd_window_log_max = 27;  ///< 10 to 31; a frame that needs more is refused, naming the option
};
/// `codec` is not none.
[[nodiscard]] std::unique_ptr<Decompressor> make_decompressor(Codec codec, const DecompressorOptions& options);

/// What the first bytes say: gzip by 1f 8b, zstd by 28 b5 2f fd or a skippable frame's 5? 2a 4d 18. nullopt: neither,
/// or too few bytes.
[[nodiscard]] std::optional<Codec> codec_of_magic(std::string_view first_bytes) noexcept;
/// By the end of the key: .gz .gzip, .zst .zstd; none otherwise.
[[nodiscard]] Codec codec_of_key(std::string_view key) noexcept;

}  // namespace millrace
