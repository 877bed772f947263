// SPDX-License-Identifier: Apache-2.0
// Any bytes, in any chunks, frame as the line model says. The first byte is the chunk size, the second the headroom.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "formats/ndjson/framer.h"
#include "formats/ndjson/line_model.h"
#include "fuzz/framed_object.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  constexpr std::size_t kMaxRecordBytes = 4000;
  if (size < 2) return 0;
  const std::string object(reinterpret_cast<const char*>(data + 2), size - 2);
  const ndjson::Framed expected = ndjson::model_of_lines(object, kMaxRecordBytes);
  const fuzz::FramedObject got = fuzz::framed_object(ndjson::make_ndjson_framer({.max_record_bytes = kMaxRecordBytes}),
                                                     object, std::size_t{1} + data[0], data[1]);
  if (got.records != expected.records || got.error.has_value() != expected.too_large) std::abort();
  return 0;
}
