// SPDX-License-Identifier: Apache-2.0
// Any bytes as user headers: a Record error, or headers that are the same bytes when they are written again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/check.h"
#include "millrace/iggy_client/user_headers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::iggy;
  const std::string_view block(reinterpret_cast<const char*>(data), size);
  std::vector<UserHeader> headers;
  const auto read = decode_user_headers(block, headers);
  std::string text;
  for (const UserHeader& header : headers) {
    append_text(header.key_kind, header.key, text);
    append_text(header.value_kind, header.value, text);
  }
  if (!read) {
    MILLRACE_CHECK(read.error().is_record(), "what is no header is a fault of its record");
    return 0;
  }
  if (block.size() > kMaxHeaderBlock) return 0;
  millrace::ByteBuffer again;
  for (const UserHeader& header : headers) {
    MILLRACE_CHECK(encode_user_header(header, again).has_value(), "what was read can be written");
  }
  MILLRACE_CHECK(again.view() == block, "headers come back as they were");
  return 0;
}
