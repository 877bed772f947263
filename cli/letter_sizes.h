// SPDX-License-Identifier: Apache-2.0
// Whether the place of dead letters takes a letter of what the sink does not take for its size. Pure.
#pragma once

#include "cli/pipeline_config.h"
#include "millrace/base/result.h"

namespace millrace::cli {

/// Fails (config) when a record that is too large for the sink, or a batch that it gives up, would make a letter that
/// is too large where it goes, which would end each run. Not decided where the sink sets no limit: then only the
/// source bounds a record.
[[nodiscard]] Result<void> check_letter_sizes(const PipelineConfig& config);

}  // namespace millrace::cli
