// SPDX-License-Identifier: Apache-2.0
// Any bytes as a commit object: refused with an error, or accepted and then unchanged by writing and reading again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "connectors/s3/commit_record.h"
#include "millrace/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::s3_sink;
  const auto parsed = parse_commit_record({reinterpret_cast<const char*>(data), size});
  if (!parsed) {
    MILLRACE_CHECK(!parsed.error().message().empty(), "a refusal says why");
    return 0;
  }
  const auto twice = parse_commit_record(to_json(*parsed));
  MILLRACE_CHECK(twice && *twice == *parsed, "an accepted record survives writing and reading");
  return 0;
}
