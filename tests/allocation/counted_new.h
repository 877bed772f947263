// SPDX-License-Identifier: Apache-2.0
// counted_new: how often this thread has called operator new. Linking counted_new.cc replaces it, so a program that
// counts stands alone (millrace_allocation_test).
#pragma once

#include <cstdint>

namespace millrace {

/// Of the calling thread, since it began.
[[nodiscard]] std::uint64_t counted_new();

}  // namespace millrace
