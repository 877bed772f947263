// SPDX-License-Identifier: Apache-2.0
#include "store/s3/request_check.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace::s3 {

bool fits_header(std::string_view value) {
  return std::ranges::none_of(value, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::unexpected<Error> refused(std::string_view doing, std::string_view why) {
  return fail(Error::fatal(ErrorCode::invalid_request, fmt::format("{}: {}", doing, why)));
}

}  // namespace millrace::s3
