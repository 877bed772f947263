// SPDX-License-Identifier: Apache-2.0
// allocation_count: how often this program has asked for memory. Linking allocation_count.cc replaces operator new, so
// a program that counts stands alone. For programs of one thread.
#pragma once

#include <cstddef>

namespace millrace {

[[nodiscard]] std::size_t allocation_count();

}  // namespace millrace
