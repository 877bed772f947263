// SPDX-License-Identifier: Apache-2.0
#include "framing/decoded_window.h"

#include <cstring>
#include <utility>

#include "millrace/base/borrow.h"
#include "millrace/base/check.h"

namespace millrace::framing {

void DecodedWindow::start(Decompressor& decompressor) {
  stop();
  decompressor_ = &decompressor;
  decompressor.reset();
  if (capacity_ != window_bytes_) resize(window_bytes_);
}

void DecodedWindow::stop() {
  decompressor_ = nullptr;
  chunk_ = {};
  input_ = {};
  begin_ = end_ = 0;
  decoded_ = 0;
}

void DecodedWindow::push(ByteChunk chunk) {
  MILLRACE_CHECK(input_.empty(), "a chunk is pushed before the one before was decoded");
  chunk_ = std::move(chunk);
  input_ = chunk_.view();
}

Result<bool> DecodedWindow::extend() {
  make_room();
  MILLRACE_ASSIGN(const Decompressor::Progress progress,
                  decompressor_->decompress(input_, {buffer_.data() + end_, capacity_ - end_}));
  input_.remove_prefix(progress.consumed);
  end_ += progress.produced;
  decoded_ += progress.produced;
  if (progress.produced != 0) return true;
  MILLRACE_CHECK(input_.empty(), "a decompressor stopped with room and input left");
  chunk_ = {};
  return false;
}

void DecodedWindow::make_room() {
  const std::size_t rest = end_ - begin_;
  if (rest == capacity_) {
    resize(2 * capacity_);
  } else if (capacity_ > window_bytes_ && rest <= window_bytes_ / 2) {
    resize(window_bytes_);  // the giant record is done
  } else if (begin_ != 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, rest);
    begin_ = 0;
    end_ = rest;
  }
}

void DecodedWindow::resize(std::size_t capacity) {
  ByteBuffer grown(capacity + kBytePadding);
  const std::size_t rest = end_ - begin_;
  if (rest != 0) std::memcpy(grown.data(), buffer_.data() + begin_, rest);
  buffer_ = std::move(grown);
  capacity_ = capacity;
  begin_ = 0;
  end_ = rest;
}

void DecodedWindow::retire() {
#if defined(MILLRACE_ASAN)
  resize(capacity_);  // freed memory is what ASan watches best
#endif
}

}  // namespace millrace::framing
