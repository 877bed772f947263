// SPDX-License-Identifier: Apache-2.0
// Any bytes as S3's XML: a page is taken whole or refused; what is taken has keys under the prefix that was asked for.
// The first byte picks the prefix.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "store/s3/xml_answer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view prefix = data[0] == 'p' ? "in/" : "";
  const std::string_view body(reinterpret_cast<const char*>(data + 1), size - 1);
  (void)millrace::s3::parse_error_xml(body);
  const auto page = millrace::s3::parse_listing(body, prefix);
  if (!page) return 0;
  for (const auto& object : page->objects) {
    if (object.key.empty() || !object.key.starts_with(prefix)) std::abort();
  }
  return 0;
}
