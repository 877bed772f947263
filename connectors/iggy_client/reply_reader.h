// SPDX-License-Identifier: Apache-2.0
// ReplyReader: puts a reply together from pieces of any size. Takes no more memory than has arrived, and a bounded step
// beyond it, whatever a header says. One owner, one thread.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "connectors/iggy_client/reply_head.h"
#include "connectors/iggy_client/vsr_frame.h"
#include "millrace/base/bytes.h"
#include "millrace/base/result.h"
#include "millrace/iggy_client/protocol.h"

namespace millrace::iggy {

class ReplyReader {
 public:
  ReplyReader(Framing framing, std::size_t max_bytes);

  /// Forgets the reply before, but not its memory.
  void begin() noexcept;
  /// Where the next bytes go; never empty before the reply is whole.
  [[nodiscard]] std::span<char> room();
  /// `count` bytes of the room are filled. True when the reply is whole. After an error nothing that follows on the
  /// connection means anything.
  [[nodiscard]] Result<bool> filled(std::size_t count);

  /// Of a whole reply; valid until begin().
  [[nodiscard]] const ReplyHead& head() const noexcept { return head_; }
  [[nodiscard]] std::string_view body() const noexcept { return {body_.data(), head_.body}; }
  /// The body's memory, kBytePadding more bytes behind it, in exchange for other memory.
  void swap_body(ByteBuffer& other) noexcept { body_.swap(other); }

 private:
  [[nodiscard]] std::size_t header_size() const noexcept;

  const Framing framing_;
  const std::size_t max_bytes_;
  std::array<char, kVsrHeader> header_{};
  std::size_t header_filled_ = 0;
  ReplyHead head_;
  ByteBuffer body_;
  std::size_t body_filled_ = 0;
};

}  // namespace millrace::iggy
