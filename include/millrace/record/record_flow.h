// SPDX-License-Identifier: Apache-2.0
// RecordFlow: what the stages of one chain share while records pass: counts of what left the way early, the verdict on
// bad records, and whose code is running. One per chain, on its lane's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/error.h"
#include "millrace/base/log.h"
#include "millrace/record/on_error.h"
#include "millrace/record/record_meta.h"

#pragma GCC visibility push(default)
namespace millrace {

/// Names one stage of a chain within its RecordFlow.
using StageId = std::uint32_t;

/// Whoever keeps the records that are skipped. Called while the record's batch is whole, on the lane's thread.
class SkippedRecords {
 public:
  virtual ~SkippedRecords() = default;
  virtual void note(const Error& error, StageId stage) = 0;
};

class RecordFlow {
 public:
  explicit RecordFlow(Logger log = {}) : log_(std::move(log)) {}

  SkippedRecords* kept_by = nullptr;  ///< is told of each skip; null: nobody keeps them

  std::uint64_t decoded = 0;   ///< records decoders gave on
  std::uint64_t filtered = 0;  ///< records dropped on purpose
  /// Why the present source record was skipped, in whole or in part: the first fault of it. Reset by whoever knows
  /// where a source record begins.
  std::optional<ErrorCode> rejected_as;
  /// Counts the runs of the chain, so that a stage sees when a new one has begun.
  std::uint64_t run = 0;
  /// The stage whose code is running; what throws is named by it.
  StageId running = 0;

  /// Once per stage, when the chain is built. `label`: "stage 2 (filter)".
  [[nodiscard]] StageId add_stage(std::string label);
  [[nodiscard]] const std::string& stage_label(StageId stage) const { return labels_[stage]; }

  /// The verdict on a bad record: true, it is dropped and counted under the error's code, go on; false, the run stops
  /// at this source record and take_error() says why. Only errors of class record are ever skipped. The first skip of
  /// each code is logged. The message gets the stage and the record's place in front.
  [[nodiscard, gnu::cold]] bool reject(Error error, OnError policy, StageId stage, const RecordMeta& meta);

  /// What stopped the run, once.
  [[nodiscard]] std::optional<Error> take_error() { return std::exchange(error_, std::nullopt); }

  using Skips = std::vector<std::pair<ErrorCode, std::uint64_t>>;
  /// Skips since the last call of clear_counts().
  [[nodiscard]] const Skips& skipped() const noexcept { return skipped_; }
  void clear_counts() noexcept {
    decoded = filtered = 0;
    skipped_.clear();
  }

 private:
  Logger log_;
  std::vector<std::string> labels_;
  Skips skipped_;
  std::vector<ErrorCode> logged_;
  std::optional<Error> error_;
};

}  // namespace millrace
#pragma GCC visibility pop
