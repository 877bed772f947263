// SPDX-License-Identifier: Apache-2.0
// CommandLine: what was asked for, taken apart. Values; CLI11 stays behind command_line_adapter.cc.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "millrace/base/log.h"
#include "millrace/log/log_sink.h"

namespace millrace::cli {

/// Which pipeline: a file, or --from and --to, with changes of --set.
struct InputArguments {
  std::string file;
  std::string from;
  std::string to;
  std::vector<std::string> set;
};

enum class ProgressMode { automatic, plain, json, none };

struct RunArguments {
  InputArguments input;
  bool print_config = false;
  ProgressMode progress = ProgressMode::automatic;
  bool verbose = false;
  std::optional<LogFormat> log_format;
  std::optional<LogLevel> log_level;
  bool reset = false;
  bool yes = false;
  bool expect_resume = false;
  bool take_over = false;
  bool retry_quarantined = false;
  bool fail_on_skipped = false;
};

struct ValidateArguments {
  std::vector<std::string> files;
};

struct StatusArguments {
  InputArguments input;
  bool json = false;
  bool drift = false;
};

struct PlanArguments {
  InputArguments input;
  bool json = false;
  bool sniff = false;
};

struct ExplainArguments {
  InputArguments input;
  bool json = false;
  std::string records;  ///< file of sample records, "-": stdin; empty: none
};

struct VerifyArguments {
  InputArguments input;
  bool json = false;
};

struct ImportArguments {
  std::string from;  ///< whose file it is: "iggy"
  std::string file;
  std::string runtime;  ///< file of the runtime's configuration; empty: not given
  std::string stream;   ///< which of several; empty: the only one
  bool compat = false;
};

enum class DescribeFormat { text, markdown, json_schema };
struct DescribeArguments {
  std::string component;  ///< empty: what there is
  DescribeFormat format = DescribeFormat::text;
};

/// --help and --version: to stdout, exit 0.
struct ShowText {
  std::string text;
};
/// Bad usage: to stderr, exit 2.
struct UsageError {
  std::string text;
};

using CommandLine = std::variant<RunArguments, ValidateArguments, PlanArguments, ExplainArguments, StatusArguments,
                                 VerifyArguments, DescribeArguments, ImportArguments, ShowText, UsageError>;

/// `arguments` without the program's name.
[[nodiscard]] CommandLine parse_command_line(const std::vector<std::string>& arguments);

}  // namespace millrace::cli
