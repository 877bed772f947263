// SPDX-License-Identifier: Apache-2.0
// Lz4Frame: one lz4 frame through liblz4, with the checksums that it has; skippable frames are skipped. A block is 4
// MiB at most by the format, so a decoder holds no more than 8.2 MiB, whatever the frame claims. Lane thread.
#pragma once

#include <lz4frame.h>

#include <array>

#include "codec/lz4_frame_header.h"
#include "codec/stream_sequence.h"

namespace millrace::codec {

class Lz4Frame final : public StreamDecoder {
 public:
  Lz4Frame() = default;
  ~Lz4Frame() override { LZ4F_freeDecompressionContext(context_); }
  Lz4Frame(const Lz4Frame&) = delete;
  Lz4Frame& operator=(const Lz4Frame&) = delete;
  Result<void> begin() override;
  StreamStep decode(std::string_view input, std::span<char> output) override;

  [[nodiscard]] static bool may_begin(char first) { return may_be_lz4_magic({&first, 1}); }

 private:
  enum class Part {
    header,
    skipping,
    block_size,
    block,  // and its checksum
    checksum,
  };

  bool gather(std::string_view input, std::size_t size, StreamStep& done);
  bool read_header(std::string_view input, StreamStep& done);
  bool read_block_size(std::string_view input, StreamStep& done);
  bool read_part(std::string_view input, std::span<char> output, StreamStep& done);
  bool skip(std::string_view input, StreamStep& done);
  std::size_t pass(std::string_view bytes, std::span<char> output, StreamStep& done);

  LZ4F_dctx* context_ = nullptr;
  Part part_ = Part::header;
  Lz4FrameHeader header_;
  std::array<char, kMostLz4HeaderBytes> gathered_{};  // of a header or a block's size
  std::size_t gathered_bytes_ = 0;
  std::uint64_t missing_ = 0;      // bytes of the part that the library has not been given
  bool holds_output_ = false;      // the last call filled the output, so there may be more
  std::size_t library_wants_ = 0;  // 0: it has seen the frame's end
};

}  // namespace millrace::codec
