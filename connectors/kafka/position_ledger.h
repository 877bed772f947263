// SPDX-License-Identifier: Apache-2.0
// PositionLedger: what is settled of each partition of this run, what the brokers have of it, and which of them they
// refuse. One partition that is refused holds up no other. Values; belongs to the control thread.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "connectors/kafka/partitions.h"
#include "millrace/base/error.h"
#include "millrace/base/ids.h"
#include "millrace/base/time.h"

namespace millrace::kafka {

struct StoredPosition {
  Partition partition;
  Watermark at;
  std::string mark;  ///< goes with it; see Beginning
};

class PositionLedger {
 public:
  /// `position.partition` is this run's from now on, and this is what is stored of it.
  void own(PartitionId id, StoredPosition position);
  /// Another's: nothing is stored of it any more.
  void disown(PartitionId id);
  /// What is to be stored; of partitions that are not owned, nothing. A position never goes back.
  void settle(std::span<const PartitionWatermark> watermarks);

  /// What is to be stored now: all that moved, but for partitions that are refused until later.
  [[nodiscard]] std::vector<StoredPosition> due(SteadyTime now) const;
  [[nodiscard]] bool anything_due(SteadyTime now) const;

  /// Answers of the brokers. Of partitions that are not owned they mean nothing.
  void stored(const Partition& partition, Watermark at);
  /// It is due again at `again`. True when it was not refused before.
  bool refused(const Partition& partition, Error error, SteadyTime again);
  /// What is refused is due now.
  void try_refused();
  /// Why the first partition that is refused is; nothing when none is.
  [[nodiscard]] std::optional<Error> refusal() const;

  /// What is settled, or where the partition began; nothing when it is not owned.
  [[nodiscard]] std::optional<Watermark> settled(PartitionId id) const;
  [[nodiscard]] std::optional<Watermark> stored(PartitionId id) const;

 private:
  struct Entry {
    StoredPosition position;  ///< as the brokers have it
    Watermark settled;
    std::optional<Error> refusal;
    SteadyTime again{};
    [[nodiscard]] bool due(SteadyTime now) const { return settled != position.at && (!refusal || now >= again); }
  };
  [[nodiscard]] Entry* find(const Partition& partition);

  std::map<PartitionId, Entry> entries_;
};

}  // namespace millrace::kafka
