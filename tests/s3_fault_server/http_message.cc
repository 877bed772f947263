// SPDX-License-Identifier: Apache-2.0
#include "tests/s3_fault_server/http_message.h"

#include <algorithm>

namespace millrace::testing {

namespace {
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }
}  // namespace

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::string lower_case(std::string_view text) {
  std::string lowered(text);
  std::ranges::transform(lowered, lowered.begin(), lower);
  return lowered;
}

std::string_view HttpRequest::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &std::pair<std::string, std::string>::first);
  return found == headers.end() ? std::string_view{} : std::string_view(found->second);
}

bool HttpRequest::has_header(std::string_view name) const {
  return std::ranges::find(headers, name, &std::pair<std::string, std::string>::first) != headers.end();
}

void HttpAnswer::set_header(std::string_view name, std::string value) {
  std::erase_if(headers, [&](const auto& header) { return equal_ignoring_case(header.first, name); });
  headers.emplace_back(std::string(name), std::move(value));
}

}  // namespace millrace::testing
