// SPDX-License-Identifier: Apache-2.0
// The section `transforms` of a pipeline file: read into a program, and described. Pure but for the problems found.
#pragma once

#include "millrace/config/config.h"
#include "millrace/config/schema.h"
#include "millrace/ops/transforms.h"
#include "millrace/pipeline/config_chain.h"

namespace millrace::cli {

/// Every problem is added with its place; what is returned then is not to be run. `decode` is what the section beside
/// it says, if there is one: without it documents are JSON, and what gives none is refused.
[[nodiscard]] ops::TransformProgram read_transforms(const ConfigSection& at, const ConfigSection& decode_section,
                                                    DecodeOptions& decode, ConfigProblems& problems);

/// The key `transforms`, with all that may stand below it.
[[nodiscard]] const OptionDescription& describe_transforms();

}  // namespace millrace::cli
