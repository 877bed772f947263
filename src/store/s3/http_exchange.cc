// SPDX-License-Identifier: Apache-2.0
#include "store/s3/http_exchange.h"

#include <algorithm>

namespace millrace::s3 {

std::string_view to_string(HttpMethod method) noexcept {
  switch (method) {
    case HttpMethod::get:
      return "GET";
    case HttpMethod::head:
      return "HEAD";
    case HttpMethod::put:
      return "PUT";
    case HttpMethod::remove:
      return "DELETE";
    case HttpMethod::post:
      return "POST";
  }
  return "?";
}

std::string_view HttpHead::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &std::pair<std::string, std::string>::first);
  return found == headers.end() ? std::string_view{} : std::string_view(found->second);
}

}  // namespace millrace::s3
