// SPDX-License-Identifier: Apache-2.0
// Summary: the last lines of a run: state, records in and out, skipped by reason, bytes, time, what is committed, how
// to go on. Pure functions.
#pragma once

#include <string>

#include "millrace/pipeline/run_report.h"

namespace millrace::cli {

struct SummaryContext {
  std::string again;          ///< the command that goes on
  std::string past_faults{};  ///< what --set makes a run go on past its error; empty: nothing does
  bool position_kept = true;  ///< false: another run begins anew
  bool retried = false;       ///< only what was set aside was read
  int exit_code = 0;
  bool counts_as_failed = false;  ///< --fail-on-skipped, and records or objects were skipped
};

/// Ends with a newline.
[[nodiscard]] std::string summary_text(const RunReport& report, const SummaryContext& context);
[[nodiscard]] std::string summary_json(const RunReport& report, const SummaryContext& context);

}  // namespace millrace::cli
