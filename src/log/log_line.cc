// SPDX-License-Identifier: Apache-2.0
#include "log/log_line.h"

#include <fmt/format.h>

#include "millrace/base/printable.h"
#include "millrace/base/utf8.h"

namespace millrace {
namespace {

/// A value as text: quoted where a reader could not tell where it ends.
std::string text_value(std::string_view value) {
  std::string shown = printable_key(value);
  if (!shown.empty() && shown.find_first_of(" \"=") == std::string::npos) return shown;
  std::string quoted = "\"";
  for (const char c : shown) {
    if (c == '"') quoted += '\\';
    quoted += c;
  }
  return quoted += '"';
}

/// A JSON string. Bytes that are no UTF-8, which JSON cannot hold, are shown as they are in text.
std::string json_string(std::string_view value) {
  const std::string shown = first_invalid_utf8(value) == std::string_view::npos ? std::string(value) : printable(value);
  std::string out = "\"";
  for (const char c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  return out += '"';
}

bool is_taken(std::string_view name) {
  return name == "time" || name == "level" || name == "component" || name == "message" || name == "repeated";
}

}  // namespace

std::string_view to_string(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warn:
      return "warn";
    case LogLevel::error:
      return "error";
    case LogLevel::off:
      break;
  }
  return "off";
}

std::string render(const LogLine& line, LogFormat format, UnixMicros time, std::uint64_t repeated) {
  if (format == LogFormat::text) {
    std::string out = fmt::format("{} {:<5} {}  {}", to_rfc3339(time), to_string(line.level), printable(line.component),
                                  printable(line.message, line.message.size()));
    for (const auto& [key, value] : line.fields) out += fmt::format(" {}={}", printable(key), text_value(value));
    if (repeated != 0) out += fmt::format(" repeated={}", repeated);
    return out;
  }
  std::string out = fmt::format(R"({{"time":"{}","level":"{}","component":{},"message":{})", to_rfc3339(time, 3),
                                to_string(line.level), json_string(line.component), json_string(line.message));
  for (const auto& [key, value] : line.fields) {
    out += fmt::format(",{}:{}", json_string(is_taken(key) ? key + "_" : key), json_string(value));
  }
  if (repeated != 0) out += fmt::format(",\"repeated\":{}", repeated);
  return out += '}';
}

}  // namespace millrace
