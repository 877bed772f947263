// SPDX-License-Identifier: Apache-2.0
// The connector file of Apache Iggy's runtime (an S3 sink) as a pipeline file. Pure. The format: a TOML file with type,
// key, [[streams]], [plugin_config] and [transforms.NAME], as Iggy's connectors runtime 0.4 and later reads it.
#pragma once

#include <string>
#include <vector>

#include "cli/toml_adapter.h"
#include "millrace/base/result.h"

namespace millrace::cli {

struct ImportRequest {
  std::string stream = {};             ///< which of several [[streams]]; empty: the only one
  bool compat = false;                 ///< the sink ends and names files as Iggy's does
  const TomlValue* runtime = nullptr;  ///< the runtime's own configuration, for where the server is; null: not given
};

struct ImportedPipeline {
  std::string yaml;
  std::vector<std::string> notes;  ///< what has no counterpart, or is otherwise here; a line each
};

/// Fails (config) when it is no connector file of an S3 sink, or does not say which stream.
[[nodiscard]] Result<ImportedPipeline> import_iggy(const TomlValue& connector, const std::string& file,
                                                   const ImportRequest& request);

}  // namespace millrace::cli
