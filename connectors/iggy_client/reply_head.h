// SPDX-License-Identifier: Apache-2.0
// ReplyHead: what the header of a reply says, in either framing. A value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "connectors/iggy_client/failure.h"

namespace millrace::iggy {

struct ReplyHead {
  std::uint32_t status = 0;  ///< 0: success
  std::size_t body = 0;      ///< bytes that follow
  std::optional<Eviction> eviction{};
  std::uint64_t request = 0;  ///< whom it answers, in the vsr framing
};

/// What `max_bytes` bounds is a whole reply. An error that says so has the code too_large, is retryable, and leaves a
/// connection that cannot be read on.
inline constexpr std::size_t kSmallestLimit = std::size_t{64} << 10U;

}  // namespace millrace::iggy
