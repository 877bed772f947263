// SPDX-License-Identifier: Apache-2.0
// Figures as people read them.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/base/time.h"

#pragma GCC visibility push(default)
namespace millrace {

/// "12,345,678".
[[nodiscard]] std::string count_text(std::uint64_t count);
/// "512 B", "1.2 MiB".
[[nodiscard]] std::string bytes_text(double bytes);
[[nodiscard]] inline std::string bytes_text(std::uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }
/// "0.4 s", "3.2 s", "4:05", "1:02:03".
[[nodiscard]] std::string time_text(Duration duration);
/// "1 object", "2 objects".
[[nodiscard]] std::string of_these(std::uint64_t count, const std::string& noun);

}  // namespace millrace
#pragma GCC visibility pop
