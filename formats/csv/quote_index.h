// SPDX-License-Identifier: Apache-2.0
// Finds newlines and quotes, 64 bytes at a time: all that decides where a row ends. Pure function, any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::csv {

/// Writes where LF and `quote` lie in [bytes, bytes + size), relative to `bytes`, and returns how many there are. Up to
/// 63 bytes behind the range are read. `positions` has room for size + 1 entries.
[[nodiscard]] std::size_t find_newlines_and_quotes(const char* bytes, std::size_t size, char quote,
                                                   std::uint32_t* positions);

}  // namespace millrace::csv
