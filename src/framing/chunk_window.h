// SPDX-License-Identifier: Apache-2.0
// ChunkWindow: a plain object's chunks as contiguous windows. Bytes stay in their chunk; only a record that chunks cut
// is put together, in the headroom of the next chunk or, when it is too long for that, in a buffer. Lane thread; owned
// by FrameReader.
#pragma once

#include <cstddef>
#include <string_view>

#include "millrace/base/bytes.h"

namespace millrace::framing {

class ChunkWindow {
 public:
  explicit ChunkWindow(std::size_t window_bytes) : window_bytes_(window_bytes) {}
  ~ChunkWindow() { drop_chunk(); }
  ChunkWindow(const ChunkWindow&) = delete;
  ChunkWindow& operator=(const ChunkWindow&) = delete;

  /// Back to an object without bytes.
  void reset();
  void push(ByteChunk chunk);

  /// What comes next, from the first byte not yet consumed.
  [[nodiscard]] std::string_view window() const noexcept {
    return assembling_ ? assembled_.view().substr(assembled_begin_)
                       : std::string_view(at_, static_cast<std::size_t>(limit_ - at_));
  }
  /// The window ends where the chunk ends.
  [[nodiscard]] bool at_chunk_end() const noexcept { return assembling_ ? unassembled_ == end_ : limit_ == end_; }
  /// Bytes pushed and not consumed, in the window or behind it.
  [[nodiscard]] std::size_t unconsumed() const noexcept {
    return assembling_ ? window().size() + static_cast<std::size_t>(end_ - unassembled_)
                       : static_cast<std::size_t>(end_ - at_);
  }
  /// The window is a copy, so only the record that chunks cut should be taken from it.
  [[nodiscard]] bool assembling() const noexcept { return assembling_; }
  void consume(std::size_t count);
  /// Makes the window longer; false when the chunk has no more. Invalidates the window.
  bool extend();
  /// Before what was consumed may change: under ASan, a read of it is reported from now on.
  void retire() noexcept;

 private:
  void use_in_place(const char* from, const char* at_least_to);
  void drop_chunk() noexcept;

  const std::size_t window_bytes_;
  ByteChunk chunk_;
  // In place: [at_, limit_) is the window, [limit_, end_) waits. Assembling: [unassembled_, end_) waits.
  const char* at_ = nullptr;
  const char* limit_ = nullptr;
  const char* unassembled_ = nullptr;
  const char* end_ = nullptr;
  bool assembling_ = false;
  ByteBuffer assembled_;
  std::size_t assembled_begin_ = 0;
};

}  // namespace millrace::framing
