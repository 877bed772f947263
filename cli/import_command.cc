// SPDX-License-Identifier: Apache-2.0
// `millrace import`: another program's connector file as a pipeline file.
#include <cstdio>
#include <optional>

#include "cli/commands.h"
#include "cli/import_iggy.h"
#include "cli/terminal.h"
#include "cli/toml_adapter.h"

namespace millrace::cli {

int import_file(const ImportArguments& arguments) {
  const auto connector = read_toml(arguments.file);
  if (!connector) return report(connector.error());
  std::optional<TomlValue> runtime;
  if (!arguments.runtime.empty()) {
    auto read = read_toml(arguments.runtime);
    if (!read) return report(read.error());
    runtime = *std::move(read);
  }
  const auto imported =
      import_iggy(*connector, arguments.file,
                  {.stream = arguments.stream, .compat = arguments.compat, .runtime = runtime ? &*runtime : nullptr});
  if (!imported) return report(imported.error());
  for (const std::string& note : imported->notes) std::fprintf(stderr, "note: %s\n", harmless(note).c_str());
  return print(imported->yaml) ? kExitCompleted : kExitFailed;
}

}  // namespace millrace::cli
