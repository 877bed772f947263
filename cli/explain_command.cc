// SPDX-License-Identifier: Apache-2.0
// `millrace explain`: how the objects that a run writes are called, when each ends, and which could share a key.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/connector_pairs.h"
#include "cli/from_to.h"
#include "cli/scratch_manifest.h"
#include "millrace/connectors/s3.h"

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
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    return fail(Error::fatal(ErrorCode::not_found,
                             fmt::format("--records: {} cannot be opened: {}", file, std::strerror(errno))));
  }
  return lines_of(in, file);
}

/// Why a line of a sample has not the fields that the run's record has; empty when it has.
std::string_view unlike_a_record(const DecodeOptions& decode) {
  switch (decode.kind) {
    case DecodeOptions::Kind::csv:
      return "looks for {field.NAME} in the objects that decode.csv makes of rows and their header";
    case DecodeOptions::Kind::text:
      return "finds no {field.NAME} in what decode.text reads";
    case DecodeOptions::Kind::json:
      if (decode.framing != decode::JsonFraming::array) break;
      return "looks for {field.NAME} in each document of an array (decode.json.framing)";
    case DecodeOptions::Kind::none:
    case DecodeOptions::Kind::raw:
      break;
  }
  return {};
}

/// A sample is looked into line by line, whatever `decode` would make of it.
Result<void> check_sample(const PipelineConfig& config) {
  const std::string_view why = unlike_a_record(config.decode);
  if (why.empty() || config.sink->name != "s3") return {};
  MILLRACE_ASSIGN(const S3SinkOptions sink, S3Sink::schema().parse(config.sink_section));
  // A template holds no braces but those of its variables.
  if (sink.path_template.find("{field.") == std::string::npos) return {};
  return fail(Error::fatal(ErrorCode::usage,
                           fmt::format("--records: the run {}, and a line of a sample is none of them, so its keys "
                                       "cannot be told; leave --records out",
                                       why)));
}

/// What the records become: those of which keys are told.
Result<std::vector<std::string>> transformed(std::vector<std::string> lines, const ops::TransformProgram& transforms) {
  if (transforms.empty()) return lines;
  ops::TransformRunner runner(transforms, Clock::real(), Random::system());
  std::vector<std::string> records;
  RecordMeta meta;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    meta.timestamp = Clock::real().unix_micros();  // lines of a sample have no time of their own
    if (!runner.run({lines[i]}, 0, false, meta)) {
      return fail(runner.failure().prefixed(fmt::format("--records: line {}: ", i + 1)));
    }
    for (const decode::Json& document : runner.documents()) records.emplace_back(document.view);
  }
  return records;
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
  Origin names;
  if (config->source->names) {
    auto known = config->source->names(config->source_section, context);
    if (!known) return report(known.error());
    names = *std::move(known);
    request.names = &names;
  }
  std::vector<std::string> records;
  if (!arguments.records.empty()) {
    if (const auto fits = check_sample(*config); !fits) return report(fits.error());
    auto given = sample(arguments.records);
    if (!given) return report(given.error());
    // A line of a sample is no row with a header; check_sample() has seen that nothing looks for fields in it.
    const bool rows = config->decode.kind == DecodeOptions::Kind::csv;
    auto made = rows ? std::move(given) : transformed(*std::move(given), config->transforms);
    if (!made) return report(made.error());
    records = *std::move(made);
    request.records = &records;
  }
  const auto verdict = config->sink->explain(config->sink_section, context, request);
  if (!verdict) return report(verdict.error());
  return print(verdict->text) && verdict->ok ? kExitCompleted : kExitFailed;
}

}  // namespace millrace::cli
