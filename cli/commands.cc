// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <string>

#include "cli/connector_pairs.h"
#include "cli/from_to.h"
#include "cli/terminal.h"
#include "millrace/config/config.h"

namespace millrace::cli {

bool print(std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

int report(const Error& error) {
  const std::string text = harmless(error.describe());
  std::fprintf(stderr, "%s%s\n", error.code() == ErrorCode::config ? "" : "error: ", text.c_str());
  return error.code() == ErrorCode::config || error.code() == ErrorCode::usage ? kExitUsage : kExitFailed;
}

int validate(const ValidateArguments& arguments, const Registry& registry) {
  int code = kExitCompleted;
  for (const std::string& file : arguments.files) {
    const auto config = Config::load(file);
    const auto checked = config ? read_pipeline(*config, registry) : Result<PipelineConfig>(fail(config.error()));
    if (!checked) {
      code = report(checked.error());
    } else if (!print(fmt::format("{}: ok\n", file))) {
      return kExitFailed;
    }
  }
  return code;
}

namespace {

/// A line of JSON for each change, as they are found.
int drift(const PipelineConfig& config, const BuildContext& context) {
  if (!config.source->drift) {
    return report(Error::fatal(ErrorCode::not_supported,
                               fmt::format("the source {} cannot tell what has changed", config.source->name)));
  }
  const auto told = config.source->drift(config.source_section, context, [](std::string_view line) -> Result<void> {
    if (print(line)) return {};
    return fail(Error::fatal(ErrorCode::io, "standard output took no more"));
  });
  return told ? kExitCompleted : report(told.error());
}

}  // namespace

int status(const StatusArguments& arguments, const Registry& registry) {
  const auto loaded = load_config(arguments.input);
  if (!loaded) return report(loaded.error());
  const auto config = read_pipeline(loaded->config, registry);
  if (!config) return report(config.error());
  if (!loaded->scratch_manifest.empty()) {
    return print(arguments.json ? "{}\n" : fmt::format("{}: no position is kept\n", loaded->name)) ? kExitCompleted
                                                                                                   : kExitFailed;
  }
  if (!config->source->status) {
    return report(
        Error::fatal(ErrorCode::not_supported,
                     fmt::format("status does not reach the positions of the source {}, which are kept where it "
                                 "reads; /metrics of a run has them (etl_{}_lag_records, and with "
                                 "metrics.per_partition_detail each partition's)",
                                 config->source->name, config->source->name)));
  }
  BuildContext context;
  context.pipeline = config->pipeline.name;
  context.threads = config->pipeline.threads;
  if (arguments.drift) return drift(*config, context);
  auto text = config->source->status(config->source_section, context, arguments.json);
  if (!text) return report(text.error());
  if (!text->ends_with('\n')) *text += '\n';
  return print(*text) ? kExitCompleted : kExitFailed;
}

int verify(const VerifyArguments& arguments, const Registry& registry) {
  const auto loaded = load_config(arguments.input);
  if (!loaded) return report(loaded.error());
  const auto config = read_pipeline(loaded->config, registry);
  if (!config) return report(config.error());
  if (!config->source->verify) {
    return report(Error::fatal(ErrorCode::not_supported,
                               fmt::format("the source {} gives no receipt to verify", config->source->name)));
  }
  BuildContext context;
  context.pipeline = config->pipeline.name;
  context.receipt = config->receipt;
  const auto verdict = config->source->verify(config->source_section, context, arguments.json);
  if (!verdict) return report(verdict.error());
  return print(verdict->text) && verdict->ok ? kExitCompleted : kExitFailed;
}

int run_program(int count, const char* const* arguments, const Registry& registry) {
  // A reader of stdout that goes away is an error to be told, not a death.
  std::signal(SIGPIPE, SIG_IGN);
  // So is a file that may not grow further (ulimit -f): the write says EFBIG.
  std::signal(SIGXFSZ, SIG_IGN);
  const CommandLine line = parse_command_line({arguments + 1, arguments + count});
  if (const auto* text = std::get_if<ShowText>(&line)) return print(text->text) ? kExitCompleted : kExitFailed;
  if (const auto* error = std::get_if<UsageError>(&line)) {
    std::fputs(error->text.c_str(), stderr);
    return kExitUsage;
  }
  if (const auto* command = std::get_if<RunArguments>(&line)) return run(*command, registry);
  if (const auto* command = std::get_if<ValidateArguments>(&line)) return validate(*command, registry);
  if (const auto* command = std::get_if<StatusArguments>(&line)) return status(*command, registry);
  if (const auto* command = std::get_if<VerifyArguments>(&line)) return verify(*command, registry);
  if (const auto* command = std::get_if<PlanArguments>(&line)) return plan(*command, registry);
  if (const auto* command = std::get_if<ExplainArguments>(&line)) return explain(*command, registry);
  if (const auto* command = std::get_if<ImportArguments>(&line)) return import_file(*command);
  return describe(std::get<DescribeArguments>(line), registry);
}

}  // namespace millrace::cli
