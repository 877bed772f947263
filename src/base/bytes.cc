// SPDX-License-Identifier: Apache-2.0
#include "millrace/base/bytes.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace millrace {
namespace {

// Cache-line aligned, so that two chunks never share one; the padding is zeroed once, since it is read but never
// written.
constexpr std::size_t kAlignment = 64;

char* allocate_block(std::size_t headroom, std::size_t capacity) {
  const std::size_t size = headroom + capacity + kBytePadding;
  void* memory = std::aligned_alloc(kAlignment, (size + kAlignment - 1) / kAlignment * kAlignment);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(static_cast<char*>(memory) + headroom + capacity, 0, kBytePadding);
  return static_cast<char*>(memory);
}

}  // namespace

ByteChunk::~ByteChunk() {
  if (memory_ == nullptr) return;
  if (pool_) {
    pool_->give_back(memory_);
  } else {
    std::free(memory_);
  }
}

ByteChunk ByteChunk::allocate(std::size_t capacity, std::size_t headroom) {
  ByteChunk chunk;
  chunk.memory_ = allocate_block(headroom, capacity);
  chunk.headroom_ = headroom;
  chunk.capacity_ = capacity;
  return chunk;
}

std::shared_ptr<ChunkPool> ChunkPool::make(std::size_t capacity, std::size_t headroom, std::size_t keep) {
  return std::shared_ptr<ChunkPool>(new ChunkPool(capacity, headroom, keep));
}

ChunkPool::ChunkPool(std::size_t capacity, std::size_t headroom, std::size_t keep)
    : capacity_(capacity), headroom_(headroom), keep_(keep) {
  free_.reserve(keep);
}

ChunkPool::~ChunkPool() {
  const MutexLock lock(mutex_);
  for (char* memory : free_) std::free(memory);
}

ByteChunk ChunkPool::take() {
  ByteChunk chunk;
  chunk.headroom_ = headroom_;
  chunk.capacity_ = capacity_;
  {
    const MutexLock lock(mutex_);
    if (!free_.empty()) {
      chunk.memory_ = free_.back();
      free_.pop_back();
    }
  }
  if (chunk.memory_ == nullptr) chunk.memory_ = allocate_block(headroom_, capacity_);
  chunk.pool_ = shared_from_this();
  return chunk;
}

void ChunkPool::give_back(char* memory) noexcept {
  {
    const MutexLock lock(mutex_);
    if (free_.size() < keep_) {
      free_.push_back(memory);
      return;
    }
  }
  std::free(memory);
}

void ByteBuffer::Free::operator()(char* memory) const noexcept { std::free(memory); }

void ByteBuffer::reserve(std::size_t capacity) {
  if (capacity <= capacity_) return;
  void* memory = std::realloc(memory_.release(), capacity);
  if (memory == nullptr) throw std::bad_alloc();
  memory_.reset(static_cast<char*>(memory));
  capacity_ = capacity;
}

void ByteBuffer::reserve_for(std::size_t count) { reserve(std::max(size_ + count, capacity_ + capacity_ / 2 + 64)); }

}  // namespace millrace
