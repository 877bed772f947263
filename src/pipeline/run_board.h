// SPDX-License-Identifier: Apache-2.0
// RunBoard: what the threads of a run post for the control thread: the first fatal error and counts, touched once per
// batch. Thread-safe; shared by all threads of a run, since one that was left behind may still post.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "millrace/ack/ledger.h"
#include "millrace/base/error.h"
#include "millrace/base/log.h"
#include "millrace/base/sync.h"
#include "millrace/pipeline/chain.h"

namespace millrace {

class RunBoard {
 public:
  /// `ledger`: of a run whose source keeps account, else null.
  RunBoard(std::shared_ptr<EventCount> control, Logger log, std::shared_ptr<Ledger> ledger = nullptr)
      : control_(std::move(control)), log_(std::move(log)), ledger_(std::move(ledger)) {}

  /// A fatal error of `component` ("lane 3", "sink orders"): the first one ends the run and names its cause; every one
  /// is logged. Called before the acks of what failed are let go, so that the cause is known when they are seen.
  void report(std::string_view component, Error error);
  [[nodiscard]] bool has_error() const noexcept { return has_error_.load(memory_order_acquire); }
  [[nodiscard]] std::optional<Error> error() const;

  void wake_control() const noexcept { control_->signal(); }
  [[nodiscard]] const std::shared_ptr<EventCount>& control() const noexcept { return control_; }
  [[nodiscard]] const Logger& log() const noexcept { return log_; }
  [[nodiscard]] const std::shared_ptr<Ledger>& ledger() const noexcept { return ledger_; }

  void add(const ChainCounts& counts);
  [[nodiscard]] std::map<std::string, std::uint64_t> skipped() const { return by_reason(skipped_); }
  /// Handed to the sink of the dead letters.
  [[nodiscard]] std::map<std::string, std::uint64_t> dead_lettered() const { return by_reason(dead_lettered_); }

  /// The write that is being tried again now; "" when none is.
  void set_write_error(std::string text);
  [[nodiscard]] std::string write_error() const;
  /// Why a batch was not written when the time of the run was up; the last one stands.
  void set_unwritten(std::string text);
  [[nodiscard]] std::string unwritten() const;

  using Count = Atomic<std::uint64_t>;
  // Lane threads.
  Count records_in{0};
  Count records_encoded{0};  ///< over all sinks
  Count records_filtered{0};
  Count payload_bytes{0};
  Count records_put_off{0};   ///< encoded into files that may not end yet, and left to the next run by a drain
  Count records_recalled{0};  ///< left out by a sink that has them from an earlier run
  Count records_revoked{0};   ///< encoded, and dropped with a lane that left before they were handed over
  // I/O threads.
  Count records_written{0};  ///< in batches that their writer called durable
  Count letters_written{0};  ///< records whose dead letters are in such batches; a letter may be of many
  // Given up on the operator's word (on_failure: drop):
  Count records_dropped{0};   ///< and kept nowhere
  Count records_given_up{0};  ///< and handed to the sink of the dead letters
  Count batches_written{0};
  Count batches_dropped{0};
  Count batches_abandoned{0};  ///< failed for good, or not written by the drain deadline
  Count bytes_written{0};
  Count write_retries{0};
  Count retrying{0};  ///< writes between their first failure and their end

 private:
  const std::shared_ptr<EventCount> control_;
  const Logger log_;
  const std::shared_ptr<Ledger> ledger_;
  using Counts = std::array<Count, kErrorCodes>;
  [[nodiscard]] static std::map<std::string, std::uint64_t> by_reason(const Counts& counts);
  Counts skipped_{};
  Counts dead_lettered_{};
  Atomic<bool> has_error_{false};
  mutable Mutex mutex_;
  std::optional<Error> error_ MILLRACE_GUARDED_BY(mutex_);
  std::string write_error_ MILLRACE_GUARDED_BY(mutex_);
  std::string unwritten_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace
