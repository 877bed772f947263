// SPDX-License-Identifier: Apache-2.0
#include "tests/s3_fault_server/uri.h"

#include <fmt/format.h>

namespace millrace::testing {

namespace {

bool unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || hex_value(text[i + 1]) < 0 || hex_value(text[i + 2]) < 0) return std::nullopt;
    out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
    i += 2;
  }
  return out;
}

std::string percent_encode(std::string_view text, bool keep_slash) {
  std::string out;
  for (const char c : text) {
    if (unreserved(c) || (keep_slash && c == '/')) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

bool strictly_encoded(std::string_view text, std::string_view also) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const auto upper_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
      if (i + 2 >= text.size() || !upper_hex(text[i + 1]) || !upper_hex(text[i + 2])) return false;
      i += 2;
    } else if (!unreserved(text[i]) && also.find(text[i]) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

std::optional<Query> parse_query(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const auto end = text.find('&');
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const auto equals = pair.find('=');
    auto name = percent_decode(pair.substr(0, equals));
    auto value = percent_decode(equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1));
    if (!name || !value) return std::nullopt;
    query.emplace_back(std::move(*name), std::move(*value));
  }
  return query;
}

}  // namespace millrace::testing
