// SPDX-License-Identifier: Apache-2.0
#include "codec/gzip_decompressor.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace::codec {
namespace {

// isa-l counts in 32 bits.
constexpr std::size_t kMostBytes = std::size_t{1} << 30U;
// When isa-l meets an invalid symbol or match it has counted the match under way (258 bytes at most) as written, but
// has not written it: what stands there is left over from earlier. More than that much is taken back.
constexpr std::size_t kUnsureBytes = 512;

std::string_view meaning(int code) {
  switch (code) {
    case ISAL_INCORRECT_CHECKSUM:
      return "its checksum or length does not match its data";
    case ISAL_INVALID_BLOCK:
      return "a deflate block is invalid";
    case ISAL_INVALID_SYMBOL:
      return "a deflate symbol is invalid";
    case ISAL_INVALID_LOOKBACK:
      return "a deflate match reaches back before the beginning";
    default:
      return "its deflate data cannot be read on";
  }
}

}  // namespace

Result<Decompressor::Progress> GzipDecompressor::decompress(std::string_view input, std::span<char> output) {
  Progress progress;
  while (!error_) {
    auto done = step(input.substr(progress.consumed), output.subspan(progress.produced));
    if (!done) {
      error_ = std::move(done).error();
      break;
    }
    progress.consumed += done->consumed;
    progress.produced += done->produced;
    consumed_ += done->consumed;
    if (done->stop && !error_) return progress;
  }
  progress.produced += drain(output.subspan(progress.produced));
  if (progress.produced == 0) return fail(*error_);
  return progress;
}

// Takes back what isa-l cannot have written: first of what it holds, then of what it `produced`.
std::size_t GzipDecompressor::sure_of(std::size_t produced) {
  const auto held = static_cast<std::size_t>(state_.tmp_out_valid - state_.tmp_out_processed);
  const std::size_t unsure = std::min(kUnsureBytes, held + produced);
  state_.tmp_out_valid -= static_cast<std::int32_t>(std::min(unsure, held));
  return produced - (unsure - std::min(unsure, held));
}

// What isa-l had decoded ahead of the place where it failed.
std::size_t GzipDecompressor::drain(std::span<char> output) {
  const auto held = static_cast<std::size_t>(state_.tmp_out_valid - state_.tmp_out_processed);
  const std::size_t some = std::min(held, output.size());
  std::copy_n(state_.tmp_out_buffer + state_.tmp_out_processed, some, output.data());
  state_.tmp_out_processed += static_cast<std::int32_t>(some);
  return some;
}

Result<GzipDecompressor::Step> GzipDecompressor::step(std::string_view input, std::span<char> output) {
  if (phase_ == Phase::body) return inflate(input, output);
  if (input.empty()) return Step{.stop = true};
  if (phase_ == Phase::between) return begin_member(input);
  return phase_ == Phase::header ? read_header(input) : skip_zeros(input);
}

Result<GzipDecompressor::Step> GzipDecompressor::begin_member(std::string_view input) {
  if (members_ != 0 && input.front() == '\0') {
    phase_ = Phase::zeros;
    return Step{};
  }
  if (members_ != 0 && input.front() != '\x1F') {
    return fail(corrupt(consumed_, fmt::format("after member {} comes neither a further one nor zero padding but byte "
                                               "{:02x}",
                                               members_, static_cast<unsigned char>(input.front()))));
  }
  ++members_;
  member_start_ = consumed_;
  header_.reset();
  phase_ = Phase::header;
  return Step{};
}

Result<GzipDecompressor::Step> GzipDecompressor::read_header(std::string_view input) {
  auto taken = header_.take(input);
  if (!taken) return fail(corrupt(member_start_, taken.error().message()));
  if (header_.done()) {
    phase_ = Phase::body;
    isal_inflate_reset(&state_);
    state_.crc_flag = ISAL_GZIP_NO_HDR_VER;
  }
  return Step{.consumed = *taken};
}

GzipDecompressor::Step GzipDecompressor::inflate(std::string_view input, std::span<char> output) {
  if (output.empty()) return {.stop = true};
  const std::size_t given = std::min(input.size(), kMostBytes);
  const std::size_t room = std::min(output.size(), kMostBytes);
  state_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(input.data()));  // only read
  state_.avail_in = static_cast<std::uint32_t>(given);
  state_.next_out = reinterpret_cast<std::uint8_t*>(output.data());
  state_.avail_out = static_cast<std::uint32_t>(room);
  const int code = isal_inflate(&state_);
  // By the pointers: after an error the counts beside them are wrong.
  Step done{.consumed = static_cast<std::size_t>(state_.next_in - reinterpret_cast<const std::uint8_t*>(input.data())),
            .produced = static_cast<std::size_t>(state_.next_out - reinterpret_cast<std::uint8_t*>(output.data()))};
  if (code == ISAL_INVALID_SYMBOL || code == ISAL_INVALID_LOOKBACK) done.produced = sure_of(done.produced);
  done.stop = done.consumed == input.size() || done.produced == output.size();
  if (code >= 0 && state_.block_state == ISAL_BLOCK_FINISH) {
    phase_ = Phase::between;
    done.stop = false;
  } else if (code < 0 || (!done.stop && done.consumed == 0 && done.produced == 0)) {
    error_ = corrupt(consumed_ + done.consumed,
                     fmt::format("in member {}, which begins at byte {}, {}", members_, member_start_, meaning(code)));
  }
  return done;
}

Result<GzipDecompressor::Step> GzipDecompressor::skip_zeros(std::string_view input) {
  const std::size_t zeros = std::min(input.find_first_not_of('\0'), input.size());
  zeros_ += zeros;
  if (zeros == input.size()) return Step{.consumed = zeros};
  return fail(corrupt(consumed_ + zeros, fmt::format("in the zero padding after member {} stands byte {:02x}", members_,
                                                     static_cast<unsigned char>(input[zeros]))));
}

Result<void> GzipDecompressor::finish() {
  if (error_) return fail(*error_);
  if (phase_ == Phase::between || phase_ == Phase::zeros) return {};
  return fail(
      Error::fatal(ErrorCode::truncated,
                   fmt::format("the gzip stream is truncated: it ends after {} bytes within {} of member {}, "
                               "which begins at byte {}",
                               consumed_, phase_ == Phase::header ? "the header" : "the data", members_, member_start_))
          .with("stored_offset", fmt::format("{}", consumed_)));
}

void GzipDecompressor::reset() {
  phase_ = Phase::between;
  isal_inflate_init(&state_);
  error_.reset();
  consumed_ = members_ = member_start_ = zeros_ = 0;
}

Error GzipDecompressor::corrupt(std::uint64_t offset, std::string_view what) const {
  return Error::fatal(ErrorCode::corrupt, fmt::format("the gzip stream is corrupt at byte {}: {}", offset, what))
      .with("stored_offset", fmt::format("{}", offset));
}

}  // namespace millrace::codec
