// SPDX-License-Identifier: Apache-2.0
// RunReport: how a run ended and what it moved. A value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/error.h"
#include "millrace/base/ids.h"
#include "millrace/base/time.h"

#pragma GCC visibility push(default)
namespace millrace {

enum class ExitState { completed, completed_with_errors, stopped, failed };
/// "Completed", "CompletedWithErrors", "Stopped", "Failed".
[[nodiscard]] std::string_view to_string(ExitState) noexcept;

struct RunReport {
  ExitState state = ExitState::failed;
  bool bounded = false;
  std::optional<Error> error;  ///< why, when failed
  std::uint64_t records_in = 0;
  std::uint64_t records_out = 0;
  std::uint64_t records_filtered = 0;
  std::uint64_t records_left_out = 0;  ///< by a sink that has them from an earlier run (delivery: exactly_once)
  std::uint64_t records_put_off = 0;   ///< of files that may not end yet: the next run reads them again
  std::map<std::string, std::uint64_t> records_skipped;  ///< by reason; kept nowhere
  /// By reason; handed to the sink of the dead letters. Of a batch that was given up ("write_dropped"), its records.
  std::map<std::string, std::uint64_t> records_dead_lettered;
  std::uint64_t dead_letters_written = 0;  ///< so many of these records are in letters that are durable
  std::uint64_t objects_skipped = 0;       ///< left out unread by the source, as it was told to; earlier runs included
  std::uint64_t objects_quarantined = 0;   ///< set aside by the source, as they could not be read; as above
  std::uint64_t payload_bytes = 0;         ///< decoded payload bytes in
  std::uint64_t bytes_written = 0;         ///< as sinks stored them
  std::uint64_t batches_written = 0;
  std::uint64_t records_unacknowledged = 0;  ///< batches still open at the end, in batches when records are not known
  std::uint64_t writes_dropped = 0;          ///< on_failure: drop
  Duration elapsed{0};
  std::vector<PartitionWatermark> committed;
  std::string committed_summary;  ///< the source's own words

  /// Completed 0 · Failed 1 (2 for a configuration error) · Stopped 3 for a bounded source, 0 otherwise ·
  /// CompletedWithErrors 4.
  [[nodiscard]] int exit_code() const noexcept;
};

}  // namespace millrace
#pragma GCC visibility pop
