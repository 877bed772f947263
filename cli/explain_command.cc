// SPDX-License-Identifier: Apache-2.0
// `millrace explain`: how the objects that a run writes are called, when each ends, and which could share a key.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/connector_pairs.h"
#include "cli/from_to.h"
#include "cli/scratch_manifest.h"

namespace millrace::cli {
namespace {

Result<std::vector<std::string>> lines_of(std::istream& in, const std::string& name) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
  }
  if (in.bad()) return fail(Error::fatal(ErrorCode::io, fmt::format("{}: cannot be read", name)));
  return lines;
}

Result<std::vector<std::string>> sample(const std::string& file) {
  if (file == "-") return lines_of(std::cin, "standard input");
  std::ifstream in(file, std::ios::binary);
  if (!in) return fail(Error::fatal(ErrorCode::not_found, fmt::format("--records: {} cannot be opened", file)));
  return lines_of(in, file);
}

}  // namespace

int explain(const ExplainArguments& arguments, const Registry& registry) {
  const auto loaded = load_config(arguments.input);
  if (!loaded) return report(loaded.error());
  const ScratchManifest scratch(loaded->scratch_manifest);
  const auto config = read_pipeline(loaded->config, registry);
  if (!config) return report(config.error());
  if (!config->sink->explain) {
    return report(Error::fatal(ErrorCode::not_supported, fmt::format("the sink {} names no objects that could be "
                                                                     "explained",
                                                                     config->sink->name)));
  }
  BuildContext context;
  context.pipeline = config->pipeline.name;
  context.threads = config->pipeline.threads;
  ExplainRequest request;
  request.json = arguments.json;
  request.splits_payloads = config->decode.framing != decode::JsonFraming::single;
  Origin names;
  if (config->source->names) {
    auto known = config->source->names(config->source_section, context);
    if (!known) return report(known.error());
    names = *std::move(known);
    request.names = &names;
  }
  std::vector<std::string> records;
  if (!arguments.records.empty()) {
    auto given = sample(arguments.records);
    if (!given) return report(given.error());
    records = *std::move(given);
    request.records = &records;
  }
  const auto verdict = config->sink->explain(config->sink_section, context, request);
  if (!verdict) return report(verdict.error());
  return print(verdict->text) && verdict->ok ? kExitCompleted : kExitFailed;
}

}  // namespace millrace::cli
