// SPDX-License-Identifier: Apache-2.0
// What NDJSON framing gives, worked out the slow and plain way. For tests and fuzz targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::ndjson {

struct Framed {
  std::vector<std::string> records;
  bool too_large = false;
  std::uint64_t line_of_error = 0;
  friend bool operator==(const Framed&, const Framed&) = default;
};
inline std::ostream& operator<<(std::ostream& out, const Framed& framed) {
  for (const auto& record : framed.records) out << '<' << record << '>';
  return out << (framed.too_large ? "too large" : "whole") << " line " << framed.line_of_error;
}

/// One byte at a time, nothing shared with the framer.
inline Framed model_of_lines(const std::string& stream, std::size_t max_record_bytes) {
  Framed framed;
  std::uint64_t line = 0;
  std::size_t at = stream.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  while (at < stream.size()) {
    ++line;
    std::string record;
    for (; at < stream.size() && stream[at] != '\n'; ++at) record += stream[at];
    ++at;
    if (!record.empty() && record.back() == '\r') record.pop_back();
    if (record.size() > max_record_bytes) {
      framed.too_large = true;
      framed.line_of_error = line;
      return framed;
    }
    bool blank = true;
    for (const char byte : record) blank = blank && std::string_view(" \t\r\v\f").find(byte) != std::string_view::npos;
    if (!blank) framed.records.push_back(record);
  }
  return framed;
}

}  // namespace millrace::ndjson
