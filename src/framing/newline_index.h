// SPDX-License-Identifier: Apache-2.0
// Finds newlines, many at a time. One call for a few kilobytes instead of a memchr per line: the short lines that
// NDJSON is made of would pay a call and a mispredicted branch each. Pure function, any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::framing {

/// Writes where the newlines of [bytes, bytes + size) lie, relative to `bytes`, and returns how many there are. Up to
/// 63 bytes behind the range are read. `positions` has room for size + 1 entries: one is written before it is known to
/// count.
using FindNewlines = std::size_t (*)(const char* bytes, std::size_t size, std::uint32_t* positions);

/// The fastest that this processor runs.
[[nodiscard]] FindNewlines find_newlines() noexcept;

/// Every one of them that it runs, for tests; the last is find_newlines(). Ends with a null pointer.
[[nodiscard]] const FindNewlines* all_find_newlines() noexcept;

}  // namespace millrace::framing
