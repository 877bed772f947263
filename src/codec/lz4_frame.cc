// SPDX-License-Identifier: Apache-2.0
#include "codec/lz4_frame.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace::codec {
namespace {

constexpr std::size_t kSizeBytes = 4;  // of a block's size, and of a checksum

std::uint32_t little_endian(const char* bytes) {
  std::uint32_t number = 0;
  for (std::size_t i = kSizeBytes; i-- > 0;) number = number << 8U | static_cast<std::uint8_t>(bytes[i]);
  return number;
}

}  // namespace

Result<void> Lz4Frame::begin() {
  if (context_ == nullptr) {
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context_, LZ4F_VERSION)) != 0) {
      return fail(Error::fatal(ErrorCode::limit, "there is no memory for an lz4 decoder"));
    }
  }
  LZ4F_resetDecompressionContext(context_);
  part_ = Part::header;
  gathered_bytes_ = 0;
  missing_ = 0;
  holds_output_ = false;
  return {};
}

// One part of the frame in a call of the library of its own: it does not say what it wrote in a call that fails, and
// so no good block is lost to the damage behind it.
StreamStep Lz4Frame::decode(std::string_view input, std::span<char> output) {
  StreamStep done;
  bool go_on = true;
  while (go_on && !done.ended && !done.fault) {
    switch (part_) {
      case Part::header:
        go_on = read_header(input, done);
        break;
      case Part::skipping:
        go_on = skip(input, done);
        break;
      case Part::block_size:
        go_on = read_block_size(input, done);
        break;
      case Part::block:
      case Part::checksum:
        go_on = read_part(input, output, done);
        break;
    }
  }
  return done;
}

/// True when `size` bytes are gathered.
bool Lz4Frame::gather(std::string_view input, std::size_t size, StreamStep& done) {
  if (size <= gathered_bytes_) return true;
  const std::size_t some = std::min(size - gathered_bytes_, input.size() - done.consumed);
  input.copy(gathered_.data() + gathered_bytes_, some, done.consumed);
  gathered_bytes_ += some;
  done.consumed += some;
  return gathered_bytes_ == size;
}

bool Lz4Frame::read_header(std::string_view input, StreamStep& done) {
  for (std::size_t wanted = 1; gather(input, wanted, done);) {
    auto header = read_lz4_frame_header({gathered_.data(), gathered_bytes_});
    if (!header) {
      done.fault = StreamFault{.text = header.error().message(), .at_start = true};
      return false;
    }
    if (header->bytes > gathered_bytes_) {
      wanted = gathered_bytes_ + 1;  // byte by byte: the first wrong one is the one that is named
      continue;
    }
    header_ = *header;
    gathered_bytes_ = 0;
    if (header_.legacy || header_.dictionary) {
      done.fault = StreamFault{.code = ErrorCode::not_supported,
                               .text = header_.legacy
                                           ? "has the legacy format, which is not supported; compress the object "
                                             "again, without lz4 -l"
                                           : "was made with a dictionary, and dictionaries are not supported; compress "
                                             "the object again without one"};
      return false;
    }
    if (header_.skippable) {
      part_ = Part::skipping;
      missing_ = header_.skippable_bytes;
      return true;
    }
    part_ = Part::block_size;
    pass({gathered_.data(), header_.bytes}, {}, done);
    return true;
  }
  return false;
}

bool Lz4Frame::read_block_size(std::string_view input, StreamStep& done) {
  if (!gather(input, kSizeBytes, done)) return false;
  gathered_bytes_ = 0;
  const std::uint32_t size = little_endian(gathered_.data()) & 0x7FFF'FFFFU;  // the top bit: stored as it is
  const bool last = little_endian(gathered_.data()) == 0;
  pass({gathered_.data(), kSizeBytes}, {}, done);
  if (done.fault) return false;
  if (last) {
    part_ = Part::checksum;
    missing_ = header_.content_checksum ? kSizeBytes : 0;
    done.ended = library_wants_ == 0;
  } else {
    missing_ = std::uint64_t{size} + (header_.block_checksums ? kSizeBytes : 0);
    if (missing_ != 0) part_ = Part::block;
  }
  return true;
}

/// A block, or the checksum of all of them.
bool Lz4Frame::read_part(std::string_view input, std::span<char> output, StreamStep& done) {
  const std::string_view rest = input.substr(done.consumed);
  const auto given = static_cast<std::size_t>(std::min<std::uint64_t>(missing_, rest.size()));
  const std::span<char> room = output.subspan(done.produced);
  if (room.empty() || (given == 0 && !holds_output_)) return false;
  const std::size_t produced = done.produced;
  const std::size_t taken = pass(rest.substr(0, given), room, done);
  done.consumed += taken;
  missing_ -= taken;
  if (done.fault) return false;
  holds_output_ = done.produced - produced == room.size();
  if (part_ == Part::checksum) {
    done.ended = library_wants_ == 0;
  } else if (missing_ == 0 && !holds_output_) {
    part_ = Part::block_size;
  } else if (taken == 0 && done.produced == produced) {
    if (given != 0) done.fault = StreamFault{.text = "its data cannot be read on"};
    return false;
  }
  return true;
}

bool Lz4Frame::skip(std::string_view input, StreamStep& done) {
  const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(missing_, input.size() - done.consumed));
  missing_ -= some;
  done.consumed += some;
  done.ended = missing_ == 0;
  return false;
}

/// Returns how much of the bytes the library took.
std::size_t Lz4Frame::pass(std::string_view bytes, std::span<char> output, StreamStep& done) {
  std::size_t taken = bytes.size();
  std::size_t made = output.size();
  library_wants_ = LZ4F_decompress(context_, output.data(), &made, bytes.data(), &taken, nullptr);
  if (LZ4F_isError(library_wants_) != 0) {
    std::string_view name = LZ4F_getErrorName(library_wants_);
    if (name.starts_with("ERROR_")) name.remove_prefix(6);
    done.fault = StreamFault{.text = fmt::format("liblz4 reports {}", name)};
    return 0;
  }
  done.produced += made;
  return taken;
}

}  // namespace millrace::codec
