// SPDX-License-Identifier: Apache-2.0
// Sums and products of sizes that come from outside: they end at the largest number rather than begin anew. Pure.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
namespace millrace {

[[nodiscard]] constexpr std::uint64_t bounded_sum(std::uint64_t a, std::uint64_t b) noexcept {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}
[[nodiscard]] constexpr std::uint64_t bounded_product(std::uint64_t a, std::uint64_t b) noexcept {
  return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

}  // namespace millrace
#pragma GCC visibility pop
