// SPDX-License-Identifier: Apache-2.0
// StopSignals: SIGINT and SIGTERM ask a run to stop; the second one ends the process at once with 130 or 143. SIGPIPE
// is ignored, so that a closed stdout is an error and not a death. One at a time, on the main thread.
#pragma once

#include "millrace/pipeline/pipeline.h"

namespace millrace::cli {

class StopSignals {
 public:
  explicit StopSignals(StopHandle stop);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The first signal that came; 0: none.
  [[nodiscard]] int received() const noexcept;
};

}  // namespace millrace::cli
