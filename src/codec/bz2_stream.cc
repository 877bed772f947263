// SPDX-License-Identifier: Apache-2.0
#include "codec/bz2_stream.h"

#include <algorithm>
#include <new>

namespace millrace::codec {
namespace {

// libbz2 counts in 32 bits.
constexpr std::size_t kMostBytes = std::size_t{1} << 30U;

StreamFault fault_of(int code) {
  switch (code) {
    case BZ_DATA_ERROR_MAGIC:
      return {.text = "no bz2 stream begins here (BZh1 to BZh9)", .at_start = true};
    case BZ_DATA_ERROR:
      return {.text = "a block is invalid, or its checksum does not match its data"};
    case BZ_MEM_ERROR:
      return {.code = ErrorCode::limit, .text = "needs more memory than there is"};
    default:
      return {.text = "its data cannot be read on"};
  }
}

}  // namespace

// The library has no way back to the beginning but to end and to begin, and would give its memory back and take it
// again for each of many small streams.
Result<void> Bz2Stream::begin() {
  end();
  stream_ = {};
  stream_.bzalloc = &Bz2Stream::allocate;
  stream_.bzfree = &Bz2Stream::release;
  stream_.opaque = this;
  if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) {
    return fail(Error::fatal(ErrorCode::limit, "there is no memory for a bz2 decoder"));
  }
  open_ = true;
  return {};
}

StreamStep Bz2Stream::decode(std::string_view input, std::span<char> output) {
  StreamStep done;
  while (!done.ended && !done.fault) {
    const std::size_t given = std::min(input.size() - done.consumed, kMostBytes);
    const std::size_t room = std::min(output.size() - done.produced, kMostBytes);
    if (room == 0) break;
    stream_.next_in = const_cast<char*>(input.data()) + done.consumed;  // only read
    stream_.avail_in = static_cast<unsigned>(given);
    stream_.next_out = output.data() + done.produced;
    stream_.avail_out = static_cast<unsigned>(room);
    const int code = BZ2_bzDecompress(&stream_);
    done.consumed += given - stream_.avail_in;
    done.produced += room - stream_.avail_out;
    done.ended = code == BZ_STREAM_END;
    if (code != BZ_OK && code != BZ_STREAM_END) done.fault = fault_of(code);
    if (done.consumed == input.size() && stream_.avail_out != 0) break;
  }
  return done;
}

void Bz2Stream::end() {
  if (open_) BZ2_bzDecompressEnd(&stream_);
  open_ = false;
}

void* Bz2Stream::allocate(void* self, int items, int size) {
  const std::size_t bytes = static_cast<std::size_t>(items) * static_cast<std::size_t>(size);
  Block* found = nullptr;
  for (Block& block : static_cast<Bz2Stream*>(self)->blocks_) {
    if (block.used) continue;
    if (found == nullptr || block.size >= bytes) found = &block;
    if (block.size >= bytes) break;
  }
  if (found == nullptr) return nullptr;
  if (found->size < bytes) {
    found->bytes.reset(new (std::nothrow) char[bytes]);
    found->size = found->bytes == nullptr ? 0 : bytes;
  }
  found->used = found->bytes != nullptr;
  return found->bytes.get();
}

void Bz2Stream::release(void* self, void* block) {
  for (Block& kept : static_cast<Bz2Stream*>(self)->blocks_) {
    if (kept.bytes.get() == block) kept.used = false;
  }
}

}  // namespace millrace::codec
