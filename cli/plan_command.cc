// SPDX-License-Identifier: Apache-2.0
// `millrace plan`: what a run would decide before it moves a byte.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/connector_pairs.h"
#include "cli/from_to.h"
#include "cli/scratch_manifest.h"
#include "pipeline/memory_bound.h"

namespace millrace::cli {

int plan(const PlanArguments& arguments, const Registry& registry) {
  const auto loaded = load_config(arguments.input);
  if (!loaded) return report(loaded.error());
  const ScratchManifest scratch(loaded->scratch_manifest);
  const auto config = read_pipeline(loaded->config, registry);
  if (!config) return report(config.error());
  if (!config->source->plan) {
    return report(Error::fatal(
        ErrorCode::not_supported,
        fmt::format("the source {} cannot tell beforehand what a run would do; `millrace explain` tells how "
                    "its objects are called and when they end",
                    config->source->name)));
  }
  BuildContext context;
  context.pipeline = config->pipeline.name;
  context.threads = config->pipeline.threads;
  context.receipt = config->receipt;
  // Made and not opened: it says how it would be written to.
  const auto sink = config->sink->make(config->sink_section, context);
  if (!sink) return report(sink.error());
  Result<std::unique_ptr<Sink>> letters = nullptr;
  if (config->dead_letter != nullptr) letters = config->dead_letter->make(config->dead_letter_section, context);
  if (!letters) return report(letters.error());
  PlanRequest request;
  request.sniff = arguments.sniff;
  request.json = arguments.json;
  request.keeps_position = loaded->scratch_manifest.empty();
  request.checkpoint_interval = config->pipeline.checkpoint_interval;
  if (config->sink->rights) {
    auto rights = config->sink->rights(config->sink_section);
    if (!rights) return report(rights.error());
    request.sink_rights = *std::move(rights);
  }
  if (config->dead_letter != nullptr && config->dead_letter->rights) {
    auto rights = config->dead_letter->rights(config->dead_letter_section);
    if (!rights) return report(rights.error());
    for (NeededRight& right : *rights) {
      right.why += " (dead letters)";
      request.sink_rights.push_back(std::move(right));
    }
  }
  request.memory_behind_source = [&](std::uint64_t lanes, std::uint64_t longest_record) {
    return memory_bound(config->pipeline, config->decode, **sink, letters->get(), lanes, longest_record,
                        config->transforms);
  };
  const auto verdict = config->source->plan(config->source_section, context, request);
  if (!verdict) return report(verdict.error());
  return print(verdict->text) && verdict->ok ? kExitCompleted : kExitFailed;
}

}  // namespace millrace::cli
