// SPDX-License-Identifier: Apache-2.0
// What is refused before a request is sent, and how errors name the request. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "millrace/base/result.h"

namespace millrace::s3 {

/// True when the value cannot end its header and begin another.
[[nodiscard]] bool fits_header(std::string_view value);

/// `doing: message`, invalid_request.
[[nodiscard]] std::unexpected<Error> refused(std::string_view doing, std::string_view why);

/// An error of a part of the answer, with `doing: ` in front.
template <class T>
[[nodiscard]] Result<T> prefixed(Result<T> result, std::string_view doing) {
  if (result) return result;
  return fail(std::move(result).error().prefixed(std::string(doing) + ": "));
}

}  // namespace millrace::s3
