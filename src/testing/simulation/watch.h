// SPDX-License-Identifier: Apache-2.0
// Watch: what a simulation has seen at its seams over all runs, and what it holds against it: positions against what is
// durable, tries of a batch against each other. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/sink/sealed_batch.h"
#include "millrace/source/payload_batch.h"
#include "millrace/testing/simulator.h"

namespace millrace::testing {

class Watch {
 public:
  Watch(SimulationReport& report, std::function<std::vector<std::string>()> durable)
      : report_(report), durable_(std::move(durable)) {}

  void note(std::string what);
  /// Kept once a promise; more of the same say nothing new.
  void breaks(const std::string& promise, const std::string& seen);

  void begin_run();
  void assigned(PartitionId partition) { assigned_.insert(partition); }
  void taken_away(PartitionId partition) { assigned_.erase(partition); }
  void read(const PayloadBatch& batch);
  /// Before the source hears of it.
  void commits(std::span<const PartitionWatermark> watermarks);
  /// The source has taken it.
  void committed(std::span<const PartitionWatermark> watermarks);
  void tries(const SealedBatch& batch, bool ordered);

  /// What the outside keeps, where it can be asked.
  void keeps(const std::map<PartitionId, Watermark>& positions) {
    for (const auto& [partition, watermark] : positions) committed_[partition] = watermark;
  }
  /// A run said Completed: everything expected is there, and committed.
  void completed(const std::vector<std::string>& expected, bool exactly_once);

 private:
  struct Tried {
    std::string bytes;
    Offset first;
    Offset last;
  };
  SimulationReport& report_;
  const std::function<std::vector<std::string>()> durable_;
  std::map<PartitionId, std::map<Offset, std::string>> read_;  ///< in any run
  std::map<PartitionId, Watermark> committed_;
  std::set<PartitionId> assigned_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Tried> tried_;  ///< in this run, by token
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>
      newest_;  ///< token of the last new batch, by lane and partition
};

}  // namespace millrace::testing
