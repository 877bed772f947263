// SPDX-License-Identifier: Apache-2.0
#include "store/s3/uri_encoding.h"

#include <algorithm>
#include <array>

namespace millrace::s3 {

namespace {

constexpr std::array<bool, 256> kUnreserved = [] {
  std::array<bool, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (const char c : {'-', '.', '_', '~'}) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

void append_encoded(std::string& out, std::string_view text, bool keep_slash) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  out.reserve(out.size() + text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (kUnreserved[byte] || (keep_slash && c == '/')) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    }
  }
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string encode_path(std::string_view key) {
  std::string out;
  append_encoded(out, key, true);
  return out;
}

std::string encode_query(std::string_view text) {
  std::string out;
  append_encoded(out, text, false);
  return out;
}

std::string encode_query(QueryPairs pairs) {
  std::ranges::sort(pairs);
  std::string out;
  for (const auto& [name, value] : pairs) {
    if (!out.empty()) out += '&';
    append_encoded(out, name, false);
    out += '=';
    append_encoded(out, value, false);
  }
  return out;
}

std::optional<std::string> decode_listed(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

}  // namespace millrace::s3
