// SPDX-License-Identifier: Apache-2.0
// SourceDriver: one instance of a source, driven by hand as the engine would, with a bare Checkpointer. It believes
// nothing: what it is handed is copied at once, and what breaks a rule is noted for the rule that asks. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/checkpoint/checkpointer.h"
#include "millrace/testing/source_conformance.h"

namespace millrace::conformance {

/// Where the offsets of a partition lead: what was given there.
using RecordsByOffset = std::map<Offset, std::string>;

/// One batch as it came, copied out of the lane.
struct TakenBatch {
  std::size_t lane = 0;  ///< index in SourceDriver::lanes()
  PartitionId partition;
  std::vector<Offset> offsets;
  std::vector<std::string> payloads;
  bool has_ack = false;
  AckRef ack;
  std::string malformed;  ///< what is wrong with its columns; empty: nothing
  [[nodiscard]] Offset last() const;
};

struct DrivenLane {
  std::unique_ptr<SourceLane> lane;
  LaneId id;
  PartitionId partition;
  bool exhausted = false;
  bool has_waker = false;
};

class SourceDriver {
 public:
  SourceDriver(const SourceUnderTest& world, const SourceOptions& options);
  ~SourceDriver();
  SourceDriver(const SourceDriver&) = delete;
  SourceDriver& operator=(const SourceDriver&) = delete;

  // Each says in `failure()` why it is false.
  /// Makes and opens an instance, and polls events until lanes are assigned.
  [[nodiscard]] bool start();
  /// One more event. True when there was one.
  bool serve_event();
  /// Events until the lanes have been replaced by others, as after a rebalance.
  [[nodiscard]] bool wait_for_new_lanes();
  /// The next batch with records of some lane, or of lane `only`; false with an empty failure when all have ended.
  [[nodiscard]] bool next(std::size_t max_records, TakenBatch& batch, std::optional<std::size_t> only = {});
  /// Reads all that lies there, and lets go of all acks.
  [[nodiscard]] bool read_all(std::size_t max_records = 2);
  /// The lanes go, then the source, without a last commit.
  void kill();

  [[nodiscard]] Result<void> commit(PartitionId partition, Watermark watermark);
  /// A batch has come: keeps it in records().
  void note(const TakenBatch& batch);

  [[nodiscard]] Source& source() { return *source_; }
  [[nodiscard]] Checkpointer& checkpointer() { return checkpointer_; }
  [[nodiscard]] std::vector<DrivenLane>& lanes() { return lanes_; }
  [[nodiscard]] const std::map<PartitionId, RecordsByOffset>& records() const { return records_; }
  [[nodiscard]] std::uint64_t record_count() const;
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] std::size_t assignments() const { return assignments_; }
  [[nodiscard]] bool all_exhausted() const;
  /// What an assignment did wrong, if one did.
  std::string delta;
  std::string twice;
  /// Offered to lanes before their first poll; nobody sleeps on it unless a rule does.
  std::shared_ptr<EventCount> waker;
  /// What stands behind SourceContext::begin_revocation; makes the final watermarks inside DrainBarrier::wait.
  std::function<std::vector<PartitionWatermark>()> at_barrier;
  bool barrier_asked = false;
  /// Runs when the source begins a revocation itself.
  std::function<void()> at_begin_revocation;

 private:
  class Barrier;
  void take(LanesAssigned assigned);
  void take_away(const LanesRevoked& revoked);
  [[nodiscard]] bool out_of_patience(SteadyTime since, std::string_view for_what);

  const SourceUnderTest& world_;
  const SourceOptions& options_;
  Checkpointer checkpointer_;
  std::unique_ptr<Source> source_;
  std::vector<DrivenLane> lanes_;
  std::map<PartitionId, RecordsByOffset> records_;
  std::string failure_;
  bool finished_ = false;
  std::size_t assignments_ = 0;
  std::size_t revocations_ = 0;
  std::size_t turn_ = 0;
};

}  // namespace millrace::conformance
