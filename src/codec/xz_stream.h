// SPDX-License-Identifier: Apache-2.0
// XzStream: one xz stream through liblzma, with its checks, in no more memory than is allowed. Lane thread.
#pragma once

#include <lzma.h>

#include <string_view>

#include "codec/stream_sequence.h"

namespace millrace::codec {

class XzStream final : public StreamDecoder {
 public:
  explicit XzStream(std::uint64_t memory_limit) : memory_limit_(memory_limit) {}
  ~XzStream() override { lzma_end(&stream_); }
  XzStream(const XzStream&) = delete;
  XzStream& operator=(const XzStream&) = delete;
  Result<void> begin() override;
  StreamStep decode(std::string_view input, std::span<char> output) override;

  [[nodiscard]] static bool may_begin(char first) { return first == kMagic.front(); }

 private:
  static constexpr std::string_view kMagic{"\xFD\x37\x7A\x58\x5A\x00", 6};

  [[nodiscard]] StreamFault fault_of(lzma_ret code) const;

  const std::uint64_t memory_limit_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
  std::size_t magic_bytes_ = 0;  // seen: the library gathers twelve bytes before it says that they are none of its
};

}  // namespace millrace::codec
