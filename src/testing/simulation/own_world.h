// SPDX-License-Identifier: Apache-2.0
// What a simulation stands on where its author brings none: a topic in memory with rebalances, and lines in memory.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millrace/testing/memory_source.h"
#include "millrace/testing/simulator.h"
#include "testing/simulation/seams.h"

namespace millrace::testing {

class OwnTopic {
 public:
  /// Some partitions with some records.
  explicit OwnTopic(SeededRandom& shape);

  [[nodiscard]] const std::vector<std::string>& records() const noexcept { return records_; }
  [[nodiscard]] std::map<PartitionId, Watermark> committed() const { return topic_->committed(); }
  /// One run's source.
  [[nodiscard]] Result<std::unique_ptr<Source>> source(SimulatedRun& run, SeededRandom& random);
  /// Of the run whose source was made last.
  void rebalance();

 private:
  std::shared_ptr<MemoryTopic> topic_;
  std::vector<std::string> records_;
  std::shared_ptr<MemoryScript> script_;
  SeededRandom* random_ = nullptr;
};

/// Fills in `sink` and `durable`.
void own_sink(SeededRandom& shape, Simulation& simulation);

}  // namespace millrace::testing
