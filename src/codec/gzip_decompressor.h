// SPDX-License-Identifier: Apache-2.0
// GzipDecompressor: every member of a gzip stream through isa-l, with the CRC and the length of each checked. Lane
// thread.
#pragma once

#include <isa-l.h>

#include <optional>

#include "codec/gzip_header.h"
#include "millrace/codec/decompressor.h"

namespace millrace::codec {

class GzipDecompressor final : public Decompressor {
 public:
  GzipDecompressor() { reset(); }
  Result<Progress> decompress(std::string_view input, std::span<char> output) override;
  Result<void> finish() override;
  void reset() override;
  [[nodiscard]] std::uint64_t consumed_total() const override { return consumed_; }
  [[nodiscard]] std::uint64_t trailing_zeros() const override { return zeros_; }

 private:
  enum class Phase {
    between,  // before the first byte of a member
    header,
    body,   // deflate data and trailer
    zeros,  // padding behind the last member
  };
  struct Step {
    std::size_t consumed = 0;
    std::size_t produced = 0;
    bool stop = false;  // needs more input or more room
  };

  [[nodiscard]] Result<Step> step(std::string_view input, std::span<char> output);
  [[nodiscard]] Result<Step> begin_member(std::string_view input);
  [[nodiscard]] Result<Step> read_header(std::string_view input);
  [[nodiscard]] Step inflate(std::string_view input, std::span<char> output);
  [[nodiscard]] Result<Step> skip_zeros(std::string_view input);
  [[nodiscard]] std::size_t sure_of(std::size_t produced);
  [[nodiscard]] std::size_t drain(std::span<char> output);
  [[nodiscard]] Error corrupt(std::uint64_t offset, std::string_view what) const;

  Phase phase_ = Phase::between;
  GzipHeader header_;
  inflate_state state_{};
  std::optional<Error> error_;  // said again by every further call
  std::uint64_t consumed_ = 0;
  std::uint64_t members_ = 0;  // begun
  std::uint64_t member_start_ = 0;
  std::uint64_t zeros_ = 0;
};

}  // namespace millrace::codec
