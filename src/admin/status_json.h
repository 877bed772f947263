// SPDX-License-Identifier: Apache-2.0
// A snapshot as the JSON of /status. Pure function.
#pragma once

#include <string>
#include <string_view>

#include "millrace/pipeline/pipeline.h"

namespace millrace::admin {

[[nodiscard]] std::string_view to_string(PipelineSnapshot::Phase) noexcept;
/// One JSON document, always valid UTF-8. What the source says of itself stands under `source.status`.
[[nodiscard]] std::string to_status_json(const PipelineSnapshot& snapshot);

}  // namespace millrace::admin
