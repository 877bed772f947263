// SPDX-License-Identifier: Apache-2.0
// PartPlan: how an object is cut into the parts of an upload, whatever records it holds: equal ones, and a shorter last
// one, within the limits of the store. A value; pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "millrace/base/result.h"

#pragma GCC visibility push(default)
namespace millrace {

/// S3's own limits.
inline constexpr std::uint64_t kLeastPartBytes = 5ULL << 20U;   ///< of every part but the last: 5 MiB
inline constexpr std::uint64_t kMostPartBytes = 5ULL << 30U;    ///< 5 GiB
inline constexpr int kMostParts = 10'000;                       ///< part numbers go from 1 to this
inline constexpr std::uint64_t kMostObjectBytes = 5ULL << 40U;  ///< 5 TiB

/// Those of a store that has others.
struct UploadLimits {
  std::uint64_t least_part_bytes = kLeastPartBytes;
  std::uint64_t most_part_bytes = kMostPartBytes;
  int most_parts = kMostParts;
  std::uint64_t most_object_bytes = kMostObjectBytes;
};

/// The size of every part but the last for an object of at most `object_bytes`: `wanted` or, where that is too little,
/// as many whole MiB as it takes. Fails with `limit` when the store cannot take such an object.
[[nodiscard]] Result<std::uint64_t> choose_part_bytes(std::uint64_t object_bytes, std::uint64_t wanted,
                                                      const UploadLimits& limits = {});

class PartPlan {
 public:
  struct Part {
    int number = 0;  ///< from 1 on
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };
  /// For an object of exactly `object_bytes`; as choose_part_bytes. An object of no bytes is one part of no bytes.
  [[nodiscard]] static Result<PartPlan> make(std::uint64_t object_bytes, std::uint64_t wanted,
                                             const UploadLimits& limits = {});

  [[nodiscard]] std::uint64_t part_bytes() const noexcept { return part_bytes_; }
  [[nodiscard]] int parts() const noexcept { return parts_; }
  /// `number` is one of 1 ... parts().
  [[nodiscard]] Part part(int number) const;

 private:
  PartPlan(std::uint64_t object_bytes, std::uint64_t part_bytes);

  std::uint64_t object_bytes_;
  std::uint64_t part_bytes_;
  int parts_;
};

}  // namespace millrace
#pragma GCC visibility pop
