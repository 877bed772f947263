// SPDX-License-Identifier: Apache-2.0
// ProgressText: a snapshot of a running pipeline as a block of lines, as one line, as JSON. Pure functions.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "millrace/base/time.h"
#include "millrace/pipeline/pipeline.h"

namespace millrace::cli {

/// Rates over the last seconds, not over the whole run: what is true now. Of what is read, and of what is written once
/// nothing is read any more. One thread.
class ProgressRates {
 public:
  void add(const PipelineSnapshot& snapshot, SteadyTime now);
  [[nodiscard]] double bytes_per_second() const noexcept { return bytes_; }
  [[nodiscard]] double records_per_second() const noexcept { return records_; }
  /// Until the source's bytes are read, or the records left are written, at the present rate; nothing when that cannot
  /// be told.
  [[nodiscard]] std::optional<Duration> time_left() const noexcept { return left_; }

 private:
  struct Sample {
    SteadyTime at;
    std::uint64_t payload_bytes;
    std::uint64_t records;
    std::uint64_t source_bytes;
    std::uint64_t bytes_written;
    std::uint64_t records_out;
  };
  std::deque<Sample> samples_;
  double bytes_ = 0;
  double records_ = 0;
  std::optional<Duration> left_;
};

/// What the run does now: "listing", "reading", "writing", "draining".
[[nodiscard]] std::string phase_of(const PipelineSnapshot& snapshot);
/// Why it is not faster; empty when nothing holds it back.
[[nodiscard]] std::string wait_of(const PipelineSnapshot& snapshot);

[[nodiscard]] std::vector<std::string> progress_block(const PipelineSnapshot& snapshot, const ProgressRates& rates,
                                                      Duration elapsed, bool lanes, bool colours);
/// Without a newline.
[[nodiscard]] std::string progress_line(const PipelineSnapshot& snapshot, const ProgressRates& rates, Duration elapsed);
[[nodiscard]] std::string progress_json(const PipelineSnapshot& snapshot, const ProgressRates& rates, Duration elapsed);

}  // namespace millrace::cli
