// SPDX-License-Identifier: Apache-2.0
// Any bytes as a line of a receipt: refused with an error, or accepted and then unchanged by writing and reading again;
// and as a whole receipt, which verify must survive.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "connectors/s3/receipt.h"
#include "connectors/s3/verification.h"
#include "millrace/base/check.h"

namespace {

template <class Parse>
void check(std::string_view line, Parse parse) {
  const auto parsed = parse(line);
  if (!parsed) {
    MILLRACE_CHECK(!parsed.error().message().empty(), "a refusal says why");
    return;
  }
  std::string again = to_line(*parsed);
  MILLRACE_CHECK(again.ends_with('\n'), "a line ends");
  again.pop_back();
  const auto twice = parse(again);
  MILLRACE_CHECK(twice && *twice == *parsed, "an accepted line survives writing and reading");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::s3_source;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  check(line, parse_object);
  check(line, parse_total);
  check(line, parse_part);
  const auto empty = ListingBuilder().finish();
  MILLRACE_CHECK(empty, "an empty listing");
  std::ignore = verify_receipt(bytes, *empty);
  return 0;
}
