// SPDX-License-Identifier: Apache-2.0
// GzipHeader: the header of one gzip member (RFC 1952), read from bytes that may be cut anywhere. Done here because
// isa-l's own reader forgets the flags of a header that comes in two pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace::codec {

class GzipHeader {
 public:
  /// Takes header bytes from the front of `input`, and returns how many. Errors (corrupt) say what is wrong, not where.
  [[nodiscard]] Result<std::size_t> take(std::string_view input);
  [[nodiscard]] bool done() const noexcept { return step_ == Step::done; }
  void reset() noexcept { *this = GzipHeader(); }

 private:
  enum class Step { fixed, extra_size, extra, name, comment, checksum, done };

  [[nodiscard]] Result<void> take_fixed(std::uint8_t byte);
  [[nodiscard]] Result<std::size_t> take_some(std::string_view input);
  void advance(Step from);

  Step step_ = Step::fixed;
  std::uint8_t flags_ = 0;
  std::uint32_t count_ = 0;   // bytes of this step taken, or left in `extra`
  std::uint32_t number_ = 0;  // the little-endian number being read
  std::uint32_t crc_ = 0;     // of all before `checksum`
};

}  // namespace millrace::codec
