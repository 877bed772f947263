// SPDX-License-Identifier: Apache-2.0
#include "codec/stream_sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace millrace::codec {

StreamSequence::StreamSequence(StreamFormat format, std::unique_ptr<StreamDecoder> decoder)
    : format_(format), decoder_(std::move(decoder)) {}

Result<Decompressor::Progress> StreamSequence::decompress(std::string_view input, std::span<char> output) {
  Progress progress;
  while (!error_) {
    const Step done = step(input.substr(progress.consumed), output.subspan(progress.produced));
    progress.consumed += done.consumed;
    progress.produced += done.produced;
    consumed_ += done.consumed;
    if (done.stop && !error_) return progress;
  }
  if (progress.produced == 0) return fail(*error_);
  return progress;
}

StreamSequence::Step StreamSequence::step(std::string_view input, std::span<char> output) {
  if (phase_ == Phase::inside) return decode(input, output);
  if (input.empty()) return {.stop = true};
  if (phase_ == Phase::zeros) return skip_zeros(input);
  begin(input.front());
  return {};
}

void StreamSequence::begin(char first) {
  if (units_ != 0 && first == '\0') {
    phase_ = Phase::zeros;
    return;
  }
  if (units_ != 0 && !format_.may_begin(first)) {
    error_ = corrupt(consumed_, fmt::format("after {} {} comes neither a further one nor zero padding but byte {:02x}",
                                            format_.unit, units_, static_cast<unsigned char>(first)));
    return;
  }
  ++units_;
  unit_start_ = consumed_;
  phase_ = Phase::inside;
  if (auto begun = decoder_->begin(); !begun) error_ = std::move(begun).error();
}

StreamSequence::Step StreamSequence::decode(std::string_view input, std::span<char> output) {
  if (output.empty()) return {.stop = true};
  StreamStep one = decoder_->decode(input, output);
  Step done{.consumed = one.consumed, .produced = one.produced};
  if (one.fault) {
    error_ = located(*one.fault, consumed_ + one.consumed);
  } else if (one.ended) {
    phase_ = Phase::between;
  } else {
    done.stop = one.consumed == input.size() || one.produced == output.size();
    if (!done.stop) error_ = located({.text = "its data cannot be read on"}, consumed_ + one.consumed);
  }
  return done;
}

StreamSequence::Step StreamSequence::skip_zeros(std::string_view input) {
  const std::size_t zeros = std::min(input.find_first_not_of('\0'), input.size());
  zeros_ += zeros;
  if (zeros == input.size()) return {.consumed = zeros, .stop = true};
  if (format_.padding_unit != 0 && zeros_ % format_.padding_unit == 0 && format_.may_begin(input[zeros])) {
    zeros_ = 0;  // they stand between two units, as the format allows
    phase_ = Phase::between;
  } else {
    error_ = corrupt(consumed_ + zeros, fmt::format("in the zero padding after {} {} stands byte {:02x}", format_.unit,
                                                    units_, static_cast<unsigned char>(input[zeros])));
  }
  return {.consumed = zeros};
}

Result<void> StreamSequence::finish() {
  if (error_) return fail(*error_);
  if (phase_ != Phase::inside) return {};
  return fail(
      Error::fatal(ErrorCode::truncated,
                   fmt::format("the {} stream is truncated: it ends after {} bytes within {} {}, which begins at byte "
                               "{}",
                               to_string(format_.codec), consumed_, format_.unit, units_, unit_start_))
          .with("stored_offset", fmt::format("{}", consumed_)));
}

void StreamSequence::reset() {
  phase_ = Phase::between;
  error_.reset();
  consumed_ = units_ = unit_start_ = zeros_ = 0;
}

Error StreamSequence::located(const StreamFault& fault, std::uint64_t offset) const {
  if (fault.at_start) return corrupt(unit_start_, fault.text);
  if (fault.code == ErrorCode::corrupt) {
    return corrupt(offset,
                   fmt::format("in {} {}, which begins at byte {}, {}", format_.unit, units_, unit_start_, fault.text));
  }
  return Error::fatal(fault.code, fmt::format("the {} {} at byte {} {}", to_string(format_.codec), format_.unit,
                                              unit_start_, fault.text))
      .with("stored_offset", fmt::format("{}", unit_start_));
}

Error StreamSequence::corrupt(std::uint64_t offset, std::string_view what) const {
  return Error::fatal(ErrorCode::corrupt,
                      fmt::format("the {} stream is corrupt at byte {}: {}", to_string(format_.codec), offset, what))
      .with("stored_offset", fmt::format("{}", offset));
}

}  // namespace millrace::codec
