// SPDX-License-Identifier: Apache-2.0
// LogLine: one event as it is written. Whatever comes from outside is escaped, so that a line stays one line and a
// terminal does nothing on its word.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/log.h"
#include "millrace/base/time.h"
#include "millrace/log/log_sink.h"

namespace millrace {

struct LogLine {
  LogLevel level = LogLevel::info;
  std::string component;
  std::string message;
  std::vector<std::pair<std::string, std::string>> fields;
};

[[nodiscard]] std::string_view to_string(LogLevel level) noexcept;
/// Without a newline. `repeated`: how many more there were; 0: none.
[[nodiscard]] std::string render(const LogLine& line, LogFormat format, UnixMicros time, std::uint64_t repeated);

}  // namespace millrace
