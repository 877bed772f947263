// SPDX-License-Identifier: Apache-2.0
// DecodedWindow: what a decompressor makes of an object's chunks, as contiguous windows of one buffer that stays in
// cache. What a framer leaves is moved to the buffer's front. Lane thread; owned by FrameReader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/base/bytes.h"
#include "millrace/base/result.h"
#include "millrace/codec/decompressor.h"

namespace millrace::framing {

class DecodedWindow {
 public:
  explicit DecodedWindow(std::size_t window_bytes) : window_bytes_(window_bytes) {}

  /// Begins an object; `decompressor` is borrowed until the next start or stop.
  void start(Decompressor& decompressor);
  void stop();
  /// Only when all before has been taken: extend() has said so.
  void push(ByteChunk chunk);

  [[nodiscard]] std::string_view window() const noexcept { return {buffer_.data() + begin_, end_ - begin_}; }
  void consume(std::size_t count) noexcept { begin_ += count; }
  /// Decodes more behind the window, which moves. False when that needs another chunk.
  [[nodiscard]] Result<bool> extend();
  /// Before what was consumed may change: under ASan, a read of it is reported from now on.
  void retire();

  [[nodiscard]] std::uint64_t decoded_bytes() const noexcept { return decoded_; }

 private:
  void make_room();
  void resize(std::size_t capacity);

  const std::size_t window_bytes_;
  Decompressor* decompressor_ = nullptr;
  ByteChunk chunk_;
  std::string_view input_;  // of chunk_, not yet taken
  ByteBuffer buffer_;
  std::size_t capacity_ = 0;  // of buffer_, padding apart
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t decoded_ = 0;
};

}  // namespace millrace::framing
