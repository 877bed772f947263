// SPDX-License-Identifier: Apache-2.0
// Bz2Stream: one bzip2 stream through libbz2, every block's checksum and the whole one's checked. A decoder holds at
// most 3.7 MiB, whatever the stream claims, and keeps it for the next stream. Lane thread.
#pragma once

#include <bzlib.h>

#include <array>
#include <memory>

#include "codec/stream_sequence.h"

namespace millrace::codec {

class Bz2Stream final : public StreamDecoder {
 public:
  Bz2Stream() = default;
  ~Bz2Stream() override { end(); }
  Bz2Stream(const Bz2Stream&) = delete;
  Bz2Stream& operator=(const Bz2Stream&) = delete;
  Result<void> begin() override;
  StreamStep decode(std::string_view input, std::span<char> output) override;

  [[nodiscard]] static bool may_begin(char first) { return first == 'B'; }

 private:
  struct Block {
    std::unique_ptr<char[]> bytes;
    std::size_t size = 0;
    bool used = false;
  };

  void end();
  static void* allocate(void* self, int items, int size);
  static void release(void* self, void* block);

  std::array<Block, 3> blocks_;  // no more at a time: the state, and two for a decoder that was asked to be small
  bz_stream stream_{};
  bool open_ = false;
};

}  // namespace millrace::codec
