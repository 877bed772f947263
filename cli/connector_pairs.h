// SPDX-License-Identifier: Apache-2.0
// What a source and a sink must not be to each other, whatever each of them is alone.
#pragma once

#include "cli/pipeline_config.h"
#include "millrace/base/result.h"
#include "millrace/config/config.h"
#include "millrace/pipeline/registry.h"

namespace millrace::cli {

/// PipelineConfig::read, then the rules over both ends. Fails (config) with every problem.
[[nodiscard]] Result<PipelineConfig> read_pipeline(const Config& config, const Registry& registry);

}  // namespace millrace::cli
