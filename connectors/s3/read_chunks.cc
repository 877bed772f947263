// SPDX-License-Identifier: Apache-2.0
#include "connectors/s3/read_chunks.h"

#include <algorithm>

namespace millrace::s3_source {
namespace {

// What a small read costs beside its bytes; keeps a lane of one-byte objects from having millions of them out.
constexpr std::size_t kReadOverhead = 512;
// One ranged read of a large object asks for at most so many chunks.
constexpr std::size_t kChunksPerRead = 4;
// The first read of an object shows at least what tells a codec.
constexpr std::size_t kLeastRead = 16;

std::size_t read_size(std::size_t prefetch_bytes, std::size_t chunk_bytes, const ReadAdvice& advice) {
  const std::size_t most = std::min(kChunksPerRead * chunk_bytes, prefetch_bytes / 2);
  return std::max({kLeastRead, chunk_bytes, std::min(advice.read_bytes, most)});
}

}  // namespace

ReadChunks::ReadChunks(std::uint64_t lanes, std::size_t prefetch_bytes, std::size_t chunk_bytes,
                       const ReadAdvice& advice)
    : read_bytes_(read_size(prefetch_bytes, chunk_bytes, advice)),
      pool_(ChunkPool::make(read_bytes_, kChunkHeadroom, lanes * (prefetch_bytes / read_bytes_ + 1))) {}

std::size_t ReadChunks::charge_of(std::size_t length) const noexcept {
  return is_large(length) ? read_bytes_ : length + kReadOverhead;
}

ByteChunk ReadChunks::take(std::size_t length, std::uint64_t offset) const {
  return is_large(length) ? pool_->take() : ByteChunk::allocate(length, offset == 0 ? 0 : kChunkHeadroom);
}

}  // namespace millrace::s3_source
