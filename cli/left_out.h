// SPDX-License-Identifier: Apache-2.0
// Connectors that this build is without, as their library was not found: named in YAML, they say so.
#pragma once

#include <string>

#include "millrace/pipeline/registry.h"

namespace millrace::cli {

/// `library` and the package that brings it: "librdkafka (librdkafka-dev)".
[[nodiscard]] SourceKind left_out_source(const std::string& name, const std::string& library);
[[nodiscard]] SinkKind left_out_sink(const std::string& name, const std::string& library);

}  // namespace millrace::cli
