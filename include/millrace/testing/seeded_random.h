// SPDX-License-Identifier: Apache-2.0
// SeededRandom: the same numbers for the same seed, on every machine. Thread-safe, though the order between threads is
// not the seed's to decide.
#pragma once

#include <cstdint>

#include "millrace/base/time.h"

#pragma GCC visibility push(default)
namespace millrace::testing {

/// SplitMix64.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  [[nodiscard]] std::uint64_t next() override {
    std::uint64_t mixed = state_.fetch_add(0x9e3779b97f4a7c15ULL, memory_order_relaxed) + 0x9e3779b97f4a7c15ULL;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebULL;
    return mixed ^ (mixed >> 31U);
  }
  /// Uniform in [0, bound). Requires bound > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  Atomic<std::uint64_t> state_;
};

}  // namespace millrace::testing
#pragma GCC visibility pop
