// SPDX-License-Identifier: Apache-2.0
// SinkDriver: one instance of a sink with a lane's own ends of it, driven by hand: records are encoded, sealed and
// written as the engine would, without its retries. One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "millrace/testing/sealed_shelf.h"
#include "millrace/testing/sink_conformance.h"

namespace millrace::conformance {

/// Sealed batches of some records of one partition, and what those records are.
struct MadeBatches {
  std::vector<SealedBatch> batches;
  std::vector<std::string> records;
};

class SinkDriver {
 public:
  SinkDriver(const SinkUnderTest& world, const SinkOptions& options) : world_(world), options_(options) {}
  ~SinkDriver() { kill(); }
  SinkDriver(const SinkDriver&) = delete;
  SinkDriver& operator=(const SinkDriver&) = delete;

  // Each says in `failure()` why it is false.
  /// Makes and opens an instance, and `writers` of its writers; 0: as many as it declares.
  [[nodiscard]] bool start(std::size_t writers = 1);
  /// `count` records of `partition`, from number `first` on, sealed. `as`: the numbers in their text, where others.
  [[nodiscard]] bool make(PartitionId partition, std::uint64_t first, std::uint64_t count, MadeBatches& made,
                          std::optional<std::uint64_t> as = {});
  /// Asks what is written of the batches' partition, where the sink's lanes do.
  [[nodiscard]] Result<void> ask(const MadeBatches& made, std::size_t writer = 0);
  /// ask(), and one try of each; the first error.
  [[nodiscard]] Result<void> write(MadeBatches& made, std::size_t writer = 0);
  /// start(), make() and write() of three records of partition 0.
  [[nodiscard]] bool write_three(MadeBatches& made, std::uint64_t first = 0);
  /// Writers and sink go without a close.
  void kill();

  [[nodiscard]] Sink& sink() { return *sink_; }
  [[nodiscard]] std::vector<std::unique_ptr<Writer>>& writers() { return writers_; }
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  /// A lane of one partition.
  struct Lane {
    testing::SealedShelf shelf;
    LaneOutputs outputs;
    std::unique_ptr<LaneChain> chain;
  };
  [[nodiscard]] Result<Lane*> lane(PartitionId partition);

  const SinkUnderTest& world_;
  const SinkOptions& options_;
  std::unique_ptr<Sink> sink_;
  std::vector<std::unique_ptr<Writer>> writers_;
  std::map<PartitionId, std::unique_ptr<Lane>> lanes_;
  std::set<PartitionId> recalled_;
  std::shared_ptr<const Origin> origin_;
  std::string failure_;
};

}  // namespace millrace::conformance
