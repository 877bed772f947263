// SPDX-License-Identifier: Apache-2.0
// What transforms take in a pipeline file that no schema reads: paths, JSON values, patterns. Each adds what is wrong
// to `problems`.
#pragma once

#include <string>
#include <vector>

#include "millrace/config/config.h"
#include "millrace/ops/transform_spec.h"

namespace millrace::cli {

/// A text with dots, or a list of names.
[[nodiscard]] FieldPath read_path(const ConfigSection& at, ConfigProblems& problems);
/// A list of at least one path.
[[nodiscard]] std::vector<FieldPath> read_paths(const ConfigSection& at, ConfigProblems& problems);
/// Any YAML value as JSON. A scalar without quotes is what the core schema of YAML 1.2 says; what JSON cannot hold is
/// refused.
[[nodiscard]] std::string read_json_value(const ConfigSection& at, ConfigProblems& problems);
/// `{static: ...}` or `{computed: ...}`.
[[nodiscard]] ops::FieldValue read_field_value(const ConfigSection& at, ConfigProblems& problems);
/// `{key_pattern: ..., value_pattern: ...}`.
[[nodiscard]] ops::FieldPattern read_pattern(const ConfigSection& at, ConfigProblems& problems);

/// The names of computed values and of patterns, for descriptions.
[[nodiscard]] std::vector<std::string> computed_names();

/// The one key of a mapping that holds exactly one; empty after a problem was added.
[[nodiscard]] std::string only_key_of(const ConfigSection& at, const std::vector<std::string>& known,
                                      ConfigProblems& problems);
/// A choice by name; the size of `known` after a problem was added.
[[nodiscard]] std::size_t choice_of(const ConfigSection& at, const std::vector<std::string>& known,
                                    ConfigProblems& problems);
/// A scalar's text; empty after a problem was added.
[[nodiscard]] std::string read_text(const ConfigSection& at, ConfigProblems& problems);

}  // namespace millrace::cli
