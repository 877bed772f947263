// SPDX-License-Identifier: Apache-2.0
// Any bytes as a manifest: refused with an error, or accepted and then unchanged by writing and reading again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "connectors/s3/manifest.h"
#include "millrace/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::s3_source;
  const auto manifest = parse_manifest({reinterpret_cast<const char*>(data), size});
  if (manifest) {
    const auto again = parse_manifest(to_json(*manifest));
    MILLRACE_CHECK(again && *again == *manifest, "an accepted manifest survives writing and reading");
  } else {
    MILLRACE_CHECK(!manifest.error().message().empty(), "a refusal says why");
  }
  return 0;
}
