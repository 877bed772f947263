// SPDX-License-Identifier: Apache-2.0
// What the section `dead_letter` of a pipeline file must be, beside a sink that is valid.
#pragma once

#include "cli/pipeline_config.h"
#include "millrace/config/config.h"
#include "millrace/config/schema.h"

namespace millrace::cli {

/// Adds what is wrong with `at`, whose sink stands in `config`: keys that have no effect on dead letters, and a section
/// that nothing would ever be written to.
void check_dead_letter(const ConfigSection& at, const PipelineConfig& config, ConfigProblems& problems);

}  // namespace millrace::cli
