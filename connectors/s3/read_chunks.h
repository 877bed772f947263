// SPDX-License-Identifier: Apache-2.0
// ReadChunks: how large one read is, what it takes of the budget, and the memory it fills. Immutable; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "millrace/base/bytes.h"
#include "millrace/store/object_store.h"

namespace millrace::s3_source {

/// Room in front of a chunk for the beginning of a record that the chunk before cut.
inline constexpr std::size_t kChunkHeadroom = std::size_t{16} << 10U;

class ReadChunks {
 public:
  ReadChunks(std::uint64_t lanes, std::size_t prefetch_bytes, std::size_t chunk_bytes, const ReadAdvice& advice);

  /// Size of one ranged read of a large object.
  [[nodiscard]] std::size_t read_bytes() const noexcept { return read_bytes_; }
  /// How many reads an object of `size` bytes takes: each of read_bytes(), and one of what is left.
  [[nodiscard]] std::uint64_t reads_of(std::uint64_t size) const noexcept {
    return size / read_bytes_ + static_cast<std::uint64_t>(size % read_bytes_ != 0);
  }
  /// What a read takes of the budget: a whole chunk, or for a small object what it is.
  [[nodiscard]] std::size_t charge_of(std::size_t length) const noexcept;
  /// Large reads share recycled chunks; a small object takes what it needs and no more.
  [[nodiscard]] ByteChunk take(std::size_t length, std::uint64_t offset) const;

 private:
  [[nodiscard]] bool is_large(std::size_t length) const noexcept { return length > read_bytes_ / 2; }
  const std::size_t read_bytes_;
  const std::shared_ptr<ChunkPool> pool_;
};

}  // namespace millrace::s3_source
