// SPDX-License-Identifier: Apache-2.0
#include "codec/zstd_decompressor.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <new>

#include "millrace/base/check.h"

namespace millrace::codec {
namespace {

constexpr int kLeastWindowLog = 10;
constexpr int kMostWindowLog = 31;
constexpr std::size_t kBlockHeaderBytes = 3;

std::string readable_size(std::uint64_t bytes) {
  constexpr std::uint64_t kMi = 1U << 20U;
  if (bytes >= 1024 * kMi && bytes % (1024 * kMi) == 0) return fmt::format("{} GiB", bytes / (1024 * kMi));
  return bytes >= kMi ? fmt::format("{} MiB", (bytes + kMi - 1) / kMi) : fmt::format("{} bytes", bytes);
}

}  // namespace

ZstdDecompressor::ZstdDecompressor(int window_log_max) : window_log_max_(window_log_max), context_(ZSTD_createDCtx()) {
  if (!context_) throw std::bad_alloc();
  MILLRACE_CHECK(window_log_max >= kLeastWindowLog && window_log_max <= kMostWindowLog,
                 "zstd_window_log_max is checked where it is configured");
  ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, window_log_max);
}

Result<Decompressor::Progress> ZstdDecompressor::decompress(std::string_view input, std::span<char> output) {
  if (error_) return fail(*error_);
  Progress progress;
  for (;;) {
    const auto done = step(input.substr(progress.consumed), output.subspan(progress.produced));
    if (!done) {
      error_ = done.error();
      if (progress.produced == 0) return fail(*error_);
      return progress;
    }
    progress.consumed += done->consumed;
    progress.produced += done->produced;
    consumed_ += done->consumed;
    if (done->stop) return progress;
  }
}

Result<ZstdDecompressor::Step> ZstdDecompressor::step(std::string_view input, std::span<char> output) {
  if (phase_ == Phase::frame) return decode(input, output);
  if (input.empty()) return Step{.stop = true};
  if (phase_ == Phase::header) return read_header(input);
  return phase_ == Phase::skipping ? skip(input) : skip_zeros(input);
}

// Gathers one header, and hands it to the library when it is known to be one that can be read.
Result<ZstdDecompressor::Step> ZstdDecompressor::read_header(std::string_view input) {
  if (header_bytes_ == 0) {
    if (frames_ != 0 && input.front() == '\0') {
      phase_ = Phase::zeros;
      return Step{};
    }
    if (frames_ != 0 && !may_be_zstd_magic(input.substr(0, 1))) {
      return fail(corrupt(consumed_, fmt::format("after frame {} comes neither a further one nor zero padding but byte "
                                                 "{:02x}",
                                                 frames_, static_cast<unsigned char>(input.front()))));
    }
    ++frames_;
    frame_start_ = consumed_;
  }
  Step done;
  for (;;) {
    auto header = read_zstd_frame_header({header_.data(), header_bytes_});
    if (!header) return fail(corrupt(frame_start_, header.error().message()));
    MILLRACE_TRY(check(*header));
    const std::size_t missing = std::min(header->bytes - header_bytes_, input.size() - done.consumed);
    if (header->bytes == header_bytes_) {
      header_bytes_ = 0;
      phase_ = header->skippable ? Phase::skipping : Phase::frame;
      skip_bytes_ = header->skippable_bytes;
      if (skip_bytes_ == 0 && header->skippable) phase_ = Phase::header;
      if (header->skippable) return done;
      ZSTD_inBuffer in{header_.data(), header->bytes, 0};
      ZSTD_outBuffer out{nullptr, 0, 0};
      wanted_ = ZSTD_decompressStream(context_.get(), &out, &in);
      if (ZSTD_isError(wanted_) != 0) return fail(corrupt(frame_start_, ZSTD_getErrorName(wanted_)));
      return done;
    }
    if (missing == 0) return done;
    input.copy(header_.data() + header_bytes_, missing, done.consumed);
    header_bytes_ += missing;
    done.consumed += missing;
  }
}

Result<void> ZstdDecompressor::check(const ZstdFrameHeader& header) const {
  if (header.window_bytes > std::uint64_t{1} << static_cast<unsigned>(window_log_max_)) {
    const auto needed = static_cast<int>(std::bit_width(header.window_bytes - 1));
    const std::string way_out =
        needed > kMostWindowLog
            ? fmt::format("no setting allows more than {}; compress the object again with a smaller window",
                          kMostWindowLog)
            : fmt::format("set zstd_window_log_max: {}, which lets a lane use that much memory", needed);
    return fail(
        Error::fatal(ErrorCode::limit,
                     fmt::format("the zstd frame at byte {} needs a window of {}, more than "
                                 "zstd_window_log_max: {} allows ({}); {}",
                                 frame_start_, readable_size(header.window_bytes), window_log_max_,
                                 readable_size(std::uint64_t{1} << static_cast<unsigned>(window_log_max_)), way_out))
            .with("stored_offset", fmt::format("{}", frame_start_)));
  }
  if (header.dictionary_id != 0) {
    return fail(Error::fatal(ErrorCode::not_supported,
                             fmt::format("the zstd frame at byte {} was made with dictionary {}, and dictionaries are "
                                         "not supported; compress the object again without one",
                                         frame_start_, header.dictionary_id))
                    .with("stored_offset", fmt::format("{}", frame_start_)));
  }
  return {};
}

// A block header and the block behind it in calls of their own: the library does not say what it wrote in a call that
// fails, and so no good block is lost to the damage behind it. What it wants includes the next block's header.
Result<ZstdDecompressor::Step> ZstdDecompressor::decode(std::string_view input, std::span<char> output) {
  // The library takes repeated calls that bring it nothing for an error.
  if (output.empty() || (input.empty() && !holds_output_)) return Step{.stop = true};
  std::size_t take = wanted_ > kBlockHeaderBytes ? wanted_ - kBlockHeaderBytes : wanted_;
  if (holds_output_) take = 0;
  const std::span<const char> given = std::span<const char>(input).first(std::min(input.size(), take));
  ZSTD_inBuffer in{given.data(), given.size(), 0};
  ZSTD_outBuffer out{output.data(), output.size(), 0};
  const std::size_t wanted = ZSTD_decompressStream(context_.get(), &out, &in);
  if (ZSTD_isError(wanted) != 0) {
    return fail(corrupt(consumed_, fmt::format("in frame {}, which begins at byte {}: {}", frames_, frame_start_,
                                               ZSTD_getErrorName(wanted))));
  }
  Step done{.consumed = in.pos, .produced = out.pos};
  holds_output_ = wanted != 0 && out.pos == out.size;
  if (wanted == 0) {
    phase_ = Phase::header;
    return done;
  }
  wanted_ = wanted;
  done.stop = done.produced == output.size() || done.consumed == input.size();
  if (!done.stop && in.size != 0 && done.consumed == 0 && done.produced == 0) {
    return fail(corrupt(consumed_, fmt::format("frame {} cannot be read on", frames_)));
  }
  return done;
}

Result<ZstdDecompressor::Step> ZstdDecompressor::skip(std::string_view input) {
  const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(input.size(), skip_bytes_));
  skip_bytes_ -= some;
  if (skip_bytes_ == 0) phase_ = Phase::header;
  return Step{.consumed = some};
}

Result<ZstdDecompressor::Step> ZstdDecompressor::skip_zeros(std::string_view input) {
  const std::size_t zeros = std::min(input.find_first_not_of('\0'), input.size());
  zeros_ += zeros;
  if (zeros == input.size()) return Step{.consumed = zeros};
  return fail(corrupt(consumed_ + zeros, fmt::format("in the zero padding after frame {} stands byte {:02x}", frames_,
                                                     static_cast<unsigned char>(input[zeros]))));
}

Result<void> ZstdDecompressor::finish() {
  if (error_) return fail(*error_);
  if (phase_ == Phase::zeros || (phase_ == Phase::header && header_bytes_ == 0)) return {};
  return fail(
      Error::fatal(ErrorCode::truncated,
                   fmt::format("the zstd stream is truncated: it ends after {} bytes within {} of frame {}, "
                               "which begins at byte {}",
                               consumed_, phase_ == Phase::header ? "the header" : "the data", frames_, frame_start_))
          .with("stored_offset", fmt::format("{}", consumed_)));
}

void ZstdDecompressor::reset() {
  ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only);
  phase_ = Phase::header;
  header_bytes_ = wanted_ = 0;
  holds_output_ = false;
  error_.reset();
  skip_bytes_ = consumed_ = frames_ = frame_start_ = zeros_ = 0;
}

Error ZstdDecompressor::corrupt(std::uint64_t offset, std::string_view what) const {
  return Error::fatal(ErrorCode::corrupt, fmt::format("the zstd stream is corrupt at byte {}: {}", offset, what))
      .with("stored_offset", fmt::format("{}", offset));
}

}  // namespace millrace::codec
