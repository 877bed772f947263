// SPDX-License-Identifier: Apache-2.0
// ZstdDecompressor: every frame of a zstd stream through libzstd, checksums included; skippable frames are skipped.
// Lane thread.
#pragma once

#include <zstd.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "codec/zstd_frame_header.h"
#include "millrace/codec/decompressor.h"

namespace millrace::codec {

class ZstdDecompressor final : public Decompressor {
 public:
  explicit ZstdDecompressor(int window_log_max);
  Result<Progress> decompress(std::string_view input, std::span<char> output) override;
  Result<void> finish() override;
  void reset() override;
  [[nodiscard]] std::uint64_t consumed_total() const override { return consumed_; }
  [[nodiscard]] std::uint64_t trailing_zeros() const override { return zeros_; }

 private:
  enum class Phase {
    header,  // of a frame, or before its first byte
    frame,
    skipping,
    zeros,  // padding behind the last frame
  };
  struct Step {
    std::size_t consumed = 0;
    std::size_t produced = 0;
    bool stop = false;  // needs more input or more room
  };

  [[nodiscard]] Result<Step> step(std::string_view input, std::span<char> output);
  [[nodiscard]] Result<Step> read_header(std::string_view input);
  [[nodiscard]] Result<void> check(const ZstdFrameHeader& header) const;
  [[nodiscard]] Result<Step> decode(std::string_view input, std::span<char> output);
  [[nodiscard]] Result<Step> skip(std::string_view input);
  [[nodiscard]] Result<Step> skip_zeros(std::string_view input);
  [[nodiscard]] Error corrupt(std::uint64_t offset, std::string_view what) const;

  struct Free {
    void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
  };

  const int window_log_max_;
  const std::unique_ptr<ZSTD_DCtx, Free> context_;
  Phase phase_ = Phase::header;
  std::array<char, kMostZstdHeaderBytes> header_{};
  std::size_t header_bytes_ = 0;
  std::size_t wanted_ = 0;        // input that takes the frame one block further
  bool holds_output_ = false;     // the last call filled the output, so there may be more
  std::uint64_t skip_bytes_ = 0;  // still to be skipped
  std::optional<Error> error_;    // said again by every further call
  std::uint64_t consumed_ = 0;
  std::uint64_t frames_ = 0;  // begun
  std::uint64_t frame_start_ = 0;
  std::uint64_t zeros_ = 0;
};

}  // namespace millrace::codec
