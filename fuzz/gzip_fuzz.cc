// SPDX-License-Identifier: Apache-2.0
#include "fuzz/codec_fuzz.h"

#include "codec/zlib_reference.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::codec;
  const Decoded decoded = fuzz_codec(millrace::Codec::gzip, data, size);
  const ZlibDecoded zlib = zlib_decoded({reinterpret_cast<const char*>(data), size});
  if (decoded.error ? !agrees_with_zlib(decoded.bytes, zlib) : decoded.bytes != zlib.bytes) std::abort();
  return 0;
}
