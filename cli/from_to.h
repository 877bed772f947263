// SPDX-License-Identifier: Apache-2.0
// FromTo: the configuration that `run --from URL --to URL` stands for (ADR-0006).
#pragma once

#include <string>

#include "cli/command_line.h"
#include "millrace/base/result.h"
#include "millrace/config/config.h"

namespace millrace::cli {

struct LoadedConfig {
  Config config;
  std::string name;              ///< for messages: the file, or "--from ... --to ..."
  std::string scratch_manifest;  ///< path of a manifest that means nothing after this run; empty: none
};

/// Reads the file or makes the configuration of --from and --to, then applies each --set. Fails (config) with every
/// problem of syntax.
[[nodiscard]] Result<LoadedConfig> load_config(const InputArguments& input);

/// Where the position of a copy is kept when nothing says so: beside the output, under a name that begins with a dot
/// and is derived from both urls. Fails when that would lie under the source's prefix, or the output does.
[[nodiscard]] Result<std::string> manifest_url_beside(const std::string& from, const std::string& to);

/// "jsonl" of "s3://b/in/day.jsonl.gz", as it is written decoded; with `as_stored` "gz". "ndjson" where the url names
/// no file.
[[nodiscard]] std::string extension_of(const std::string& from, bool as_stored = false);

}  // namespace millrace::cli
