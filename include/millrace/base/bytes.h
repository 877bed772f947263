// SPDX-License-Identifier: Apache-2.0
// Bytes: a ByteChunk owns a block on its way from a store to a lane; a ByteBuffer grows while a lane encodes. Byte
// strings that only borrow are std::string_view everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "millrace/base/check.h"
#include "millrace/base/sync.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Readable bytes that follow the end of every ByteChunk and of every window a framer sees: what simdjson may read past
/// a document.
inline constexpr std::size_t kBytePadding = 64;

class ChunkPool;

/// A block of bytes with one owner: [headroom][data ... size][padding]. Moves along the data's way; never copied. The
/// headroom is where a lane puts the beginning of a record that started in the chunk before, so that a record cut by
/// chunks is copied once.
class ByteChunk {
 public:
  ByteChunk() = default;
  ByteChunk(ByteChunk&& other) noexcept { swap(other); }
  ByteChunk& operator=(ByteChunk&& other) noexcept {
    ByteChunk(std::move(other)).swap(*this);
    return *this;
  }
  ~ByteChunk();

  /// A chunk outside any pool.
  static ByteChunk allocate(std::size_t capacity, std::size_t headroom = 0);

  [[nodiscard]] char* data() noexcept { return memory_ + headroom_; }
  [[nodiscard]] const char* data() const noexcept { return memory_ + headroom_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t headroom() const noexcept { return headroom_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// Requires size <= capacity().
  void set_size(std::size_t size) {
    MILLRACE_CHECK(size <= capacity_, "a chunk cannot hold more than its capacity");
    size_ = size;
  }
  [[nodiscard]] std::string_view view() const noexcept { return {data(), size_}; }
  [[nodiscard]] std::span<char> writable() noexcept { return {data(), capacity_}; }

  void swap(ByteChunk& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(headroom_, other.headroom_);
    std::swap(capacity_, other.capacity_);
    std::swap(size_, other.size_);
    pool_.swap(other.pool_);
  }

 private:
  friend class ChunkPool;
  char* memory_ = nullptr;
  std::size_t headroom_ = 0;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::shared_ptr<ChunkPool> pool_;
};

/// Recycles chunks of one size, last freed first taken, so that bytes land where the cache is warm. Thread-safe. Does
/// not bound how many are out: the budget of who takes them does.
class ChunkPool : public std::enable_shared_from_this<ChunkPool> {
 public:
  /// `keep` is how many free chunks stay cached.
  static std::shared_ptr<ChunkPool> make(std::size_t capacity, std::size_t headroom, std::size_t keep);
  ~ChunkPool();
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;

  [[nodiscard]] ByteChunk take();
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  friend class ByteChunk;
  ChunkPool(std::size_t capacity, std::size_t headroom, std::size_t keep);
  void give_back(char* memory) noexcept;

  const std::size_t capacity_;
  const std::size_t headroom_;
  const std::size_t keep_;
  Mutex mutex_;
  std::vector<char*> free_ MILLRACE_GUARDED_BY(mutex_);
};

/// A growing byte string that does not initialise what it grows by. One owner, one thread.
class ByteBuffer {
 public:
  ByteBuffer() = default;
  explicit ByteBuffer(std::size_t capacity) { reserve(capacity); }
  ByteBuffer(ByteBuffer&& other) noexcept { swap(other); }
  ByteBuffer& operator=(ByteBuffer&& other) noexcept {
    ByteBuffer(std::move(other)).swap(*this);
    return *this;
  }

  void append(std::string_view bytes) {
    char* to = grow(bytes.size());
    if (!bytes.empty()) __builtin_memcpy(to, bytes.data(), bytes.size());
  }
  void push_back(char byte) { *grow(1) = byte; }
  /// Makes room for `count` more bytes, counts them as written, and returns where they go.
  [[nodiscard]] char* grow(std::size_t count) {
    if (capacity_ - size_ < count) [[unlikely]]
      reserve_for(count);
    char* at = memory_.get() + size_;
    size_ += count;
    return at;
  }
  /// Drops what lies behind `size`; takes back a half-written record. Requires size <= size().
  void truncate(std::size_t size) {
    MILLRACE_CHECK(size <= size_, "truncate cannot grow a buffer");
    size_ = size;
  }
  void clear() noexcept { size_ = 0; }
  void reserve(std::size_t capacity);
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] char* data() noexcept { return memory_.get(); }
  [[nodiscard]] const char* data() const noexcept { return memory_.get(); }
  [[nodiscard]] std::string_view view() const noexcept { return {memory_.get(), size_}; }
  void swap(ByteBuffer& other) noexcept {
    memory_.swap(other.memory_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  void reserve_for(std::size_t count);
  struct Free {
    void operator()(char* memory) const noexcept;
  };
  std::unique_ptr<char[], Free> memory_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace millrace
#pragma GCC visibility pop
