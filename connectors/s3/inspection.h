// SPDX-License-Identifier: Apache-2.0
// What can be asked of a backfill from outside a run: how far it is (`millrace status`) and what has changed since it
// began (`--drift`). Opens the stores and reads; changes nothing. One thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "millrace/config/config.h"
#include "millrace/pipeline/registry.h"

namespace millrace::s3_source {

/// The manifest that a configuration names, and nothing else, for people or as one JSON document.
[[nodiscard]] Result<std::string> read_status(const ConfigSection& section, const BuildContext& context, bool json);

/// Lists again and gives `write` a line of JSON for each object that is not what the first run listed, and a last one
/// with the counts. Fails when nothing is kept to compare with, and with what `write` fails with.
[[nodiscard]] Result<void> report_drift(const ConfigSection& section, const BuildContext& context,
                                        const std::function<Result<void>(std::string_view)>& write);

/// Lists again and holds the receipt against it and against itself, for people or as one JSON document.
[[nodiscard]] Result<Verdict> verify(const ConfigSection& section, const BuildContext& context, bool json);

}  // namespace millrace::s3_source
