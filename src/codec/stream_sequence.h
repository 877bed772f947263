// SPDX-License-Identifier: Apache-2.0
// StreamSequence: a Decompressor of formats whose library reads one stream at a time: stream after stream, the padding
// behind the last one, and what is wrong with either, said the same way for all. Lane thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "millrace/codec/decompressor.h"

namespace millrace::codec {

/// What ends the reading. `text` goes on behind "in stream 2, which begins at byte 70," when the damage is corrupt and
/// not at its start, behind "the xz stream at byte 70" when it is another code.
struct StreamFault {
  ErrorCode code = ErrorCode::corrupt;
  std::string text;
  bool at_start = false;  ///< no stream begins there; `text` is all that is said
};

struct StreamStep {
  std::size_t consumed = 0;
  std::size_t produced = 0;
  bool ended = false;  ///< and the rest of the input is not this stream's
  std::optional<StreamFault> fault;
};

/// One stream (or frame) of a format, through the library that reads it.
class StreamDecoder {
 public:
  virtual ~StreamDecoder() = default;
  /// The next byte is the first of a stream; what was under way is dropped.
  virtual Result<void> begin() = 0;
  /// Decodes until the stream ends, the input is used up or the output is full, which is not empty. With room left,
  /// nothing that is decoded is held back.
  virtual StreamStep decode(std::string_view input, std::span<char> output) = 0;
};

struct StreamFormat {
  Codec codec;
  std::string_view unit;          ///< what the format calls one of its sequence: stream, frame
  bool (*may_begin)(char first);  ///< a unit, by its first byte
  std::size_t padding_unit = 0;   ///< a multiple of so many zeros may stand between units; 0: none may
};

class StreamSequence final : public Decompressor {
 public:
  StreamSequence(StreamFormat format, std::unique_ptr<StreamDecoder> decoder);
  Result<Progress> decompress(std::string_view input, std::span<char> output) override;
  Result<void> finish() override;
  void reset() override;
  [[nodiscard]] std::uint64_t consumed_total() const override { return consumed_; }
  [[nodiscard]] std::uint64_t trailing_zeros() const override { return zeros_; }

 private:
  enum class Phase {
    between,  // before the first byte of a unit
    inside,
    zeros,  // padding behind a unit
  };
  struct Step {
    std::size_t consumed = 0;
    std::size_t produced = 0;
    bool stop = false;  // needs more input or more room
  };

  [[nodiscard]] Step step(std::string_view input, std::span<char> output);
  [[nodiscard]] Step decode(std::string_view input, std::span<char> output);
  void begin(char first);
  [[nodiscard]] Step skip_zeros(std::string_view input);
  [[nodiscard]] Error located(const StreamFault& fault, std::uint64_t offset) const;
  [[nodiscard]] Error corrupt(std::uint64_t offset, std::string_view what) const;

  const StreamFormat format_;
  const std::unique_ptr<StreamDecoder> decoder_;
  Phase phase_ = Phase::between;
  std::optional<Error> error_;  // said again by every further call
  std::uint64_t consumed_ = 0;
  std::uint64_t units_ = 0;  // begun
  std::uint64_t unit_start_ = 0;
  std::uint64_t zeros_ = 0;
};

}  // namespace millrace::codec
