// SPDX-License-Identifier: Apache-2.0
// Reading what the kernel has in memory already, and nothing else. Any thread.
#pragma once

#include <cstdint>
#include <span>

namespace millrace {

/// Fills `destination` from `offset` on without waiting for a disk. False, with the destination's content undefined,
/// when some of it is not in memory, the file ends before, or the file system cannot tell.
[[nodiscard]] bool read_cached(int descriptor, std::span<char> destination, std::uint64_t offset);

}  // namespace millrace
