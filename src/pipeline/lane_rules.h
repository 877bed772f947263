// SPDX-License-Identifier: Apache-2.0
// What a lane is held to (docs/RULES.md): checks of what a poll returned, before anything of it moves on. Lane thread.
#pragma once

#include <cstddef>
#include <optional>

#include "millrace/base/error.h"
#include "millrace/source/payload_batch.h"

namespace millrace {

class LaneRules {
 public:
  LaneRules(LaneId lane, PartitionId partition) : lane_(lane), partition_(partition) {}

  /// The rule that `batch` breaks, if any: whose it is, its offsets, its columns, its ack. Each is fatal. A batch that
  /// passes is remembered: the next must lie behind it.
  [[nodiscard]] std::optional<Error> check(const PayloadBatch& batch);

  /// A poll of a lane without waker returned Idle after `took` of the `allowed` time. True once, when that has happened
  /// so often that the lane spins.
  [[nodiscard]] bool spins(Duration took, Duration allowed);
  /// It spun, and has not produced since: its thread paces it.
  [[nodiscard]] bool spinning() const noexcept { return early_idles_ >= kEarlyIdles; }

 private:
  // One early answer is a race with the clock; a hundred in a row are a loop.
  static constexpr int kEarlyIdles = 100;
  [[nodiscard]] Error broken(std::string_view rule) const;

  const LaneId lane_;
  const PartitionId partition_;
  std::optional<Offset> last_;  ///< settled by the last batch's ack
  int early_idles_ = 0;
  bool warned_ = false;
};

}  // namespace millrace
