// SPDX-License-Identifier: Apache-2.0
#include "framing/chunk_window.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "millrace/base/borrow.h"

namespace millrace::framing {
namespace {

// What is copied of a chunk at first in search of a record's end; doubled with each step, so a record is copied once
// and at most as much again beyond its end.
constexpr std::size_t kFirstStep = 4U << 10U;
// A buffer that one giant record has grown beyond this is given back; always under ASan, which watches freed memory
// best.
#if defined(MILLRACE_ASAN)
constexpr std::size_t kKeptBytes = 0;
#else
constexpr std::size_t kKeptBytes = 1U << 20U;
#endif

}  // namespace

void ChunkWindow::reset() {
  drop_chunk();
  assembling_ = false;
  assembled_.clear();
  assembled_begin_ = 0;
}

void ChunkWindow::push(ByteChunk chunk) {
  if (chunk.empty()) return;
  if (assembling_) {
    drop_chunk();
    chunk_ = std::move(chunk);
    unassembled_ = chunk_.data();
    end_ = unassembled_ + chunk_.size();
    return;
  }
  const auto rest = static_cast<std::size_t>(end_ - at_);
  // What has been carried once goes to the buffer, where it stays: carried from headroom to headroom, a long record in
  // short chunks would be copied again and again.
  const bool carried_before = rest != 0 && at_ < chunk_.data();
  if (rest <= chunk.headroom() && !carried_before) {
    char* begin = chunk.data() - rest;
    if (rest != 0) std::memcpy(begin, at_, rest);
    drop_chunk();
    chunk_ = std::move(chunk);
    end_ = chunk_.data() + chunk_.size();
    use_in_place(begin, begin + rest);
    return;
  }
  assembled_.clear();
  assembled_begin_ = 0;
  assembled_.append({at_, rest});
  assembling_ = true;
  drop_chunk();
  chunk_ = std::move(chunk);
  unassembled_ = chunk_.data();
  end_ = unassembled_ + chunk_.size();
}

void ChunkWindow::consume(std::size_t count) {
  if (!assembling_) {
    at_ += count;
    return;
  }
  assembled_begin_ += count;
  const std::size_t left = assembled_.size() - assembled_begin_;
  if (chunk_.data() != nullptr && left <= static_cast<std::size_t>(unassembled_ - chunk_.data())) {
    assembling_ = false;
    use_in_place(unassembled_ - left, unassembled_);
  }
}

bool ChunkWindow::extend() {
  if (at_chunk_end()) return false;
  if (!assembling_) {
    const auto step = std::max(window_bytes_, static_cast<std::size_t>(limit_ - at_));
    limit_ += std::min(step, static_cast<std::size_t>(end_ - limit_));
    return true;
  }
  const std::size_t step = std::min(std::max(kFirstStep, assembled_.size() - assembled_begin_),
                                    static_cast<std::size_t>(end_ - unassembled_));
  if (const std::size_t needed = assembled_.size() + step + kBytePadding; needed > assembled_.capacity()) {
    assembled_.reserve(std::max(needed, 2 * assembled_.capacity()));
  }
  assembled_.append({unassembled_, step});
  unassembled_ += step;
  return true;
}

void ChunkWindow::retire() noexcept {
  if (!assembling_ && assembled_.capacity() != 0) {
    assembled_.clear();
    if (assembled_.capacity() > kKeptBytes) assembled_ = {};
  }
  if (!assembling_ && chunk_.data() != nullptr) {
    const char* memory = chunk_.data() - chunk_.headroom();
    MILLRACE_POISON(memory, static_cast<std::size_t>(at_ - memory));
  }
}

void ChunkWindow::use_in_place(const char* from, const char* at_least_to) {
  at_ = from;
  const auto window = std::min(window_bytes_, static_cast<std::size_t>(end_ - at_));
  limit_ = std::max(at_ + window, at_least_to);
}

void ChunkWindow::drop_chunk() noexcept {
  if (chunk_.data() != nullptr) {
    MILLRACE_UNPOISON(chunk_.data() - chunk_.headroom(), chunk_.headroom() + chunk_.capacity());
  }
  chunk_ = {};
  at_ = limit_ = unassembled_ = end_ = nullptr;
}

}  // namespace millrace::framing
