// SPDX-License-Identifier: Apache-2.0
// Which rights a source or a sink needs on its stores, and what for: the table of docs/connectors/store.md for one
// configuration. Pure.
#pragma once

#include <vector>

#include "connectors/s3/options.h"
#include "connectors/s3/sink_options.h"
#include "millrace/pipeline/plan.h"

namespace millrace::s3_source {
/// Without `keeps_position` the manifest lies in a folder for temporary files and goes with the run.
[[nodiscard]] std::vector<NeededRight> rights_of(const Settings& settings, bool keeps_position = true);
}  // namespace millrace::s3_source

namespace millrace::s3_sink {
[[nodiscard]] std::vector<NeededRight> rights_of(const CheckedOptions& options);
}  // namespace millrace::s3_sink
