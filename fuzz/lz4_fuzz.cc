// SPDX-License-Identifier: Apache-2.0
#include "fuzz/codec_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  millrace::codec::fuzz_codec(millrace::Codec::lz4, data, size);
  return 0;
}
