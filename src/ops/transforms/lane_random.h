// SPDX-License-Identifier: Apache-2.0
// LaneRandom: random numbers of one lane, without the lock that a shared source of them takes. Seeded from one
// when the first is asked for. One thread; not for secrets.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "millrace/base/time.h"

namespace millrace::transforms {

/// xoshiro256++, by Blackman and Vigna.
class LaneRandom final : public Random {
 public:
  /// `seed` stays until then.
  explicit LaneRandom(Random& seed) : seed_(&seed) {}
  [[nodiscard]] std::uint64_t next() override {
    if (seed_ != nullptr) [[unlikely]]
      begin();
    const std::uint64_t made = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return made;
  }

 private:
  [[gnu::cold]] void begin() {
    for (std::uint64_t& word : state_) word = seed_->next();
    state_[3] |= 1U;
    seed_ = nullptr;
  }

  Random* seed_;
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace millrace::transforms
