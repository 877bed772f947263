// SPDX-License-Identifier: Apache-2.0
// Compressor: blocks of plain bytes to gzip members (RFC 1952) or zstd frames (RFC 8878), each whole in itself. What a
// reader of the format makes of several one after the other is what went in, so a file may be compressed block by block
// while it grows. One thread; keeps its memory from block to block.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "millrace/base/bytes.h"
#include "millrace/codec/decompressor.h"

#pragma GCC visibility push(default)
namespace millrace {

struct Compression {
  Codec codec = Codec::none;  ///< none, gzip or zstd
  int level = 0;              ///< 0: the codec's own
  friend bool operator==(const Compression&, const Compression&) = default;
};

struct CompressionLevels {
  int least = 0;
  int most = 0;
  int own = 0;
};
/// gzip: 1 to 3 are isa-l's, several times as fast as zlib's 4 to 9, which pack tighter. zstd: 1 to 19.
[[nodiscard]] CompressionLevels compression_levels(Codec codec) noexcept;

class Compressor {
 public:
  virtual ~Compressor() = default;
  /// Appends the member or frame of `plain`. The same bytes come out for the same bytes in, with the same library.
  virtual void compress(std::string_view plain, ByteBuffer& out) = 0;
};
/// Bytes that one takes at most for blocks of `block` bytes, beside these and what comes out. 0 for none.
[[nodiscard]] std::uint64_t compressor_memory(const Compression& compression, std::uint64_t block) noexcept;
/// `compression.codec` is gzip or zstd, its level 0 or within compression_levels().
[[nodiscard]] std::unique_ptr<Compressor> make_compressor(const Compression& compression);

}  // namespace millrace
#pragma GCC visibility pop
