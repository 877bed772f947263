// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "cli/commands.h"
#include "cli/connector_pairs.h"
#include "cli/from_to.h"
#include "cli/pipeline_config.h"
#include "cli/progress.h"
#include "cli/scratch_manifest.h"
#include "cli/stop_signals.h"
#include "cli/summary.h"
#include "cli/terminal.h"
#include "millrace/admin/admin_server.h"
#include "millrace/log/log_sink.h"
#include "millrace/metrics/meter.h"
#include "millrace/pipeline/config_chain.h"
#include "millrace/pipeline/pipeline.h"
#include "millrace/version.h"

namespace millrace::cli {
namespace {

/// `word` as a shell takes it back.
std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                          "_-./:=@%+,") == std::string::npos;
  if (plain) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// The command that goes on; a changed value may be a secret, and is left to the person.
std::string command_again(const InputArguments& input, const Registry& registry) {
  std::string text = "millrace run";
  if (!input.file.empty()) text += " " + shell_word(input.file);
  if (!input.from.empty()) text += fmt::format(" --from {} --to {}", shell_word(input.from), shell_word(input.to));
  for (const std::string& change : input.set) {
    const std::string path = change.substr(0, change.find('='));
    const std::string value = change.substr(std::min(path.size() + 1, change.size()));
    text += " --set " + (holds_secret(registry, path, value) ? shell_word(path) + "=..." : shell_word(change));
  }
  return text;
}

/// Asks on a terminal; elsewhere --yes must have answered.
Result<void> confirm_reset(const RunArguments& arguments, const PipelineConfig& config) {
  if (!arguments.reset || arguments.yes) return {};
  const std::string kept = config.source_section.section("checkpoint.url").text();
  const bool shard = config.source_section.section("shard").exists();
  const std::string what = kept.empty() ? "the kept position"
                                        : fmt::format("the position{} kept at {}", shard ? " of this shard" : "", kept);
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDERR_FILENO) != 1) {
    return fail(Error::fatal(ErrorCode::usage,
                             fmt::format("--reset forgets {}; what was written stays, so empty the output first or "
                                         "records stand twice. There is no terminal to ask on, so say --yes",
                                         what)));
  }
  std::fprintf(
      stderr,
      "Forget %s and begin anew? What was written stays: empty the output first, or records stand twice. [y/N] ",
      harmless(what).c_str());
  char answer[16] = {};
  const bool yes = std::fgets(answer, sizeof answer, stdin) != nullptr && (answer[0] == 'y' || answer[0] == 'Y');
  if (yes) return {};
  return fail(Error::fatal(ErrorCode::usage, "not reset; nothing was done"));
}

/// What only a position that is kept in a manifest can be asked for. A source with a manifest can tell drift.
Result<void> check_position_options(const RunArguments& arguments, const SourceKind& source) {
  if (source.drift) return {};
  struct Option {
    bool given;
    std::string_view name;
    std::string_view instead;
  };
  const std::array options{
      Option{arguments.reset, "--reset", "to begin anew give it another group or consumer, and `start`"},
      Option{arguments.expect_resume, "--expect-resume", "`start: stored` refuses to begin anywhere else"},
      Option{arguments.take_over, "--take-over", "the members of a group take over from each other by themselves"},
      Option{arguments.retry_quarantined, "--retry-quarantined", "it sets no objects aside"}};
  for (const Option& option : options) {
    if (!option.given) continue;
    return fail(Error::fatal(ErrorCode::usage, fmt::format("{}: positions of the source {} are kept where it reads; {}",
                                                           option.name, source.name, option.instead)));
  }
  return {};
}

RunReport failed(Error error) {
  RunReport report;
  report.error = std::move(error);
  return report;
}

RunReport run_pipeline(const RunArguments& arguments, const PipelineConfig& config, Terminal& terminal, ProgramLog& log,
                       const Logger& logger) {
  BuildContext build;
  build.pipeline = config.pipeline.name;
  build.threads = config.pipeline.threads;
  build.per_partition_detail = config.metrics.per_partition_detail;
  build.log = logger;
  build.reset = arguments.reset;
  build.expect_resume = arguments.expect_resume;
  build.take_over = arguments.take_over;
  build.retry_quarantined = arguments.retry_quarantined;
  build.receipt = config.receipt;

  auto sink = config.sink->make(config.sink_section, build);
  if (!sink) return failed(sink.error());
  Result<std::unique_ptr<Sink>> letters = nullptr;
  if (config.dead_letter != nullptr) letters = config.dead_letter->make(config.dead_letter_section, build);
  if (!letters) return failed(letters.error());
  auto source = config.source->make(config.source_section, build);
  if (!source) return failed(source.error());

  Pipeline pipeline(config.pipeline);
  const StopSignals signals(pipeline.stop_handle());
  auto metrics = std::make_shared<MetricRegistry>(config.metrics.name_space);
  pipeline.metrics(metrics).log(logger);
  pipeline.chain_factory(make_config_chain(config.decode, (*sink)->encode_spec(), config.transforms));
  pipeline.sink(std::move(sink));
  if (*letters) pipeline.dead_letter(std::move(letters));

  std::unique_ptr<AdminServer> admin;
  if (config.metrics.listen != "none") {
    auto started =
        AdminServer::start({.listen = config.metrics.listen}, metrics, [&pipeline] { return pipeline.snapshot(); });
    if (!started) return failed(std::move(started).error().prefixed("metrics.listen: "));
    admin = *std::move(started);
    logger.info("the admin listener serves /metrics, /healthz, /readyz and /status", {{"at", admin->address()}});
  }

  bool told = false;
  const Progress progress(
      arguments.progress, arguments.verbose, terminal, Clock::real(), [&pipeline] { return pipeline.snapshot(); },
      [&] {
        log.tick();
        if (told || signals.received() == 0) return;
        told = true;
        logger.warn("stopping: what is under way is written and committed; a second signal ends at once");
      });
  return pipeline.run(std::move(source));
}

}  // namespace

int run(const RunArguments& arguments, const Registry& registry) {
  const auto loaded = load_config(arguments.input);
  if (!loaded) return report(loaded.error());
  const auto config = read_pipeline(loaded->config, registry);
  if (!config) return report(config.error());
  if (arguments.print_config) {
    const std::string yaml =
        loaded->config.to_yaml([&](std::string_view path) { return is_secret_path(registry, path); });
    return print(yaml) ? kExitCompleted : kExitFailed;
  }
  if (const auto fits = check_position_options(arguments, *config->source); !fits) return report(fits.error());
  if (const auto confirmed = confirm_reset(arguments, *config); !confirmed) return report(confirmed.error());

  Terminal terminal(STDERR_FILENO);
  const auto log = ProgramLog::make({.format = arguments.log_format.value_or(config->log.format),
                                     .output = [&terminal](std::string_view line) { terminal.write(line); }});
  const Logger logger(log, "millrace", arguments.log_level.value_or(config->log.level));
  logger.info("millrace " MILLRACE_VERSION, {{"config", loaded->name}, {"pipeline", config->pipeline.name}});
  if (!arguments.input.from.empty() && loaded->scratch_manifest.empty()) {
    logger.info("the position is kept", {{"at", config->source_section.section("checkpoint.url").text()}});
  }

  const ScratchManifest scratch(loaded->scratch_manifest);
  const RunReport result = run_pipeline(arguments, *config, terminal, *log, logger);
  log->flush();

  SummaryContext summary;
  summary.again = command_again(arguments.input, registry);
  summary.position_kept = loaded->scratch_manifest.empty();
  summary.retried = arguments.retry_quarantined;
  if (result.error && config->source->past_faults)
    summary.past_faults = config->source->past_faults(config->source_section, result.error->code());
  summary.exit_code = result.exit_code();
  summary.counts_as_failed =
      arguments.fail_on_skipped && summary.exit_code == kExitCompleted &&
      (!result.records_skipped.empty() || !result.records_dead_lettered.empty() || result.objects_skipped > 0);
  if (summary.counts_as_failed) summary.exit_code = kExitWithErrors;
  terminal.write(arguments.progress == ProgressMode::json ? summary_json(result, summary)
                                                          : summary_text(result, summary));
  return summary.exit_code;
}

}  // namespace millrace::cli
