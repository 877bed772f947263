// SPDX-License-Identifier: Apache-2.0
// Commands: one function each. They print to stdout what was asked for and to stderr what went wrong, and return the
// exit code (0 completed, 1 failed, 2 bad usage or configuration, 3 stopped, 4 completed with errors).
#pragma once

#include "cli/command_line.h"
#include "millrace/base/error.h"
#include "millrace/pipeline/registry.h"

namespace millrace::cli {

inline constexpr int kExitCompleted = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitWithErrors = 4;

[[nodiscard]] int run(const RunArguments& arguments, const Registry& registry);
[[nodiscard]] int validate(const ValidateArguments& arguments, const Registry& registry);
[[nodiscard]] int plan(const PlanArguments& arguments, const Registry& registry);
[[nodiscard]] int explain(const ExplainArguments& arguments, const Registry& registry);
[[nodiscard]] int verify(const VerifyArguments& arguments, const Registry& registry);
[[nodiscard]] int status(const StatusArguments& arguments, const Registry& registry);
[[nodiscard]] int describe(const DescribeArguments& arguments, const Registry& registry);

[[nodiscard]] int import_file(const ImportArguments& arguments);

/// What `main` does, with the program's arguments.
[[nodiscard]] int run_program(int count, const char* const* arguments, const Registry& registry);

/// Prints text to stdout. False when stdout cannot take it.
[[nodiscard]] bool print(std::string_view text);
/// Prints an error to stderr, and returns the exit code that it stands for.
int report(const Error& error);

}  // namespace millrace::cli
