// SPDX-License-Identifier: Apache-2.0
// ZstdFrame: plain bytes, piece by piece, to one zstd frame with its checksum. A value of one owner; one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace millrace {

class ZstdFrame {
 public:
  ZstdFrame();
  ~ZstdFrame();
  ZstdFrame(const ZstdFrame&) = delete;
  ZstdFrame& operator=(const ZstdFrame&) = delete;

  void write(std::string_view bytes);
  /// Everything written, as one frame; nothing is written afterwards.
  [[nodiscard]] std::string finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace
#pragma GCC visibility pop
