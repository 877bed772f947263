// SPDX-License-Identifier: Apache-2.0
#include "codec/xz_stream.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace::codec {
namespace {

std::uint64_t whole_mebibytes(std::uint64_t bytes) { return (bytes + (1U << 20U) - 1) >> 20U; }

}  // namespace

// Keeps the memory of the stream before.
Result<void> XzStream::begin() {
  if (lzma_stream_decoder(&stream_, memory_limit_, LZMA_TELL_UNSUPPORTED_CHECK) != LZMA_OK) {
    return fail(Error::fatal(ErrorCode::limit, "there is no memory for an xz decoder"));
  }
  magic_bytes_ = 0;
  return {};
}

StreamStep XzStream::decode(std::string_view input, std::span<char> output) {
  const std::size_t magic = std::min(kMagic.size() - magic_bytes_, input.size());
  if (input.substr(0, magic) != kMagic.substr(magic_bytes_, magic)) return {.fault = fault_of(LZMA_FORMAT_ERROR)};
  magic_bytes_ += magic;
  stream_.next_in = reinterpret_cast<const std::uint8_t*>(input.data());
  stream_.avail_in = input.size();
  stream_.next_out = reinterpret_cast<std::uint8_t*>(output.data());
  stream_.avail_out = output.size();
  const lzma_ret code = lzma_code(&stream_, LZMA_RUN);
  StreamStep done{.consumed = input.size() - stream_.avail_in,
                  .produced = output.size() - stream_.avail_out,
                  .ended = code == LZMA_STREAM_END};
  // Twice in a row nothing to do is an error (LZMA_BUF_ERROR) for the library, not for us.
  if (code != LZMA_OK && code != LZMA_BUF_ERROR && !done.ended) done.fault = fault_of(code);
  return done;
}

StreamFault XzStream::fault_of(lzma_ret code) const {
  switch (code) {
    case LZMA_FORMAT_ERROR:
      return {.text = "no xz stream begins here (fd 37 7a 58 5a 00)", .at_start = true};
    case LZMA_MEMLIMIT_ERROR: {
      const std::uint64_t needed = whole_mebibytes(lzma_memusage(&stream_));
      return {.code = ErrorCode::limit,
              .text = fmt::format("needs {} MiB of memory to be read, more than xz_memory_limit: {}MiB allows; set "
                                  "xz_memory_limit: {}MiB, which lets a lane use that much",
                                  needed, memory_limit_ >> 20U, needed)};
    }
    case LZMA_MEM_ERROR:
      return {.code = ErrorCode::limit, .text = "needs more memory than there is"};
    case LZMA_UNSUPPORTED_CHECK:
      return {.code = ErrorCode::not_supported,
              .text = fmt::format("has an integrity check ({}) that this liblzma does not know",
                                  static_cast<int>(lzma_get_check(&stream_)))};
    case LZMA_OPTIONS_ERROR:
      return {.code = ErrorCode::not_supported, .text = "has filters or options that this liblzma does not know"};
    case LZMA_DATA_ERROR:
      return {.text = "its data is invalid or does not match its checksum"};
    default:
      return {.text = "its data cannot be read on"};
  }
}

}  // namespace millrace::codec
