// SPDX-License-Identifier: Apache-2.0
#include "millrace/pipeline/run_report.h"

namespace millrace {

std::string_view to_string(ExitState state) noexcept {
  switch (state) {
    case ExitState::completed:
      return "Completed";
    case ExitState::completed_with_errors:
      return "CompletedWithErrors";
    case ExitState::stopped:
      return "Stopped";
    case ExitState::failed:
      return "Failed";
  }
  return "unknown";
}

int RunReport::exit_code() const noexcept {
  switch (state) {
    case ExitState::completed:
      return 0;
    case ExitState::completed_with_errors:
      return 4;
    case ExitState::stopped:
      return bounded ? 3 : 0;
    case ExitState::failed:
      return error && (error->code() == ErrorCode::config || error->code() == ErrorCode::usage) ? 2 : 1;
  }
  return 1;
}

}  // namespace millrace
