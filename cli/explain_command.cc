// SPDX-License-Identifier: Apache-2.0
// `millrace explain`: what stands at each stage of the data's way and what it holds at most; then how the objects that
// a run writes are called, when each ends, and which could share a key.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/connector_pairs.h"
#include "cli/from_to.h"
#include "cli/scratch_manifest.h"
#include "cli/way_table.h"
#include "millrace/connectors/s3.h"
#include "pipeline/data_way.h"

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

/// How the objects of a sink that names some are called.
Result<Verdict> tell_objects(const ExplainArguments& arguments, const PipelineConfig& config,
                             const BuildContext& context) {
  ExplainRequest request;
  request.json = arguments.json;
  Origin names;
  if (config.source->names) {
    MILLRACE_ASSIGN(names, config.source->names(config.source_section, context));
    request.names = &names;
  }
  std::vector<std::string> records;
  if (!arguments.records.empty()) {
    MILLRACE_TRY(check_sample(config));
    MILLRACE_ASSIGN(records, sample(arguments.records));
    // A line of a sample is no row with a header; check_sample() has seen that nothing looks for fields in it.
    const bool rows = config.decode.kind == DecodeOptions::Kind::csv;
    if (!rows) {
      MILLRACE_ASSIGN(records, transformed(std::move(records), config.transforms));
    }
    request.records = &records;
  }
  return config.sink->explain(config.sink_section, context, request);
}

Result<SourceWay> way_of_source(const PipelineConfig& config, const BuildContext& context, bool keeps_position) {
  SourceWay way;
  if (!config.source->way) {
    way.rows.push_back({.stage = DataStage::source, .here = config.source->name + " source", .thread = "lane"});
    return way;
  }
  MILLRACE_ASSIGN(way, config.source->way(config.source_section, context));
  if (keeps_position) return way;
  for (StageRow& row : way.rows) {
    if (row.stage == DataStage::commit) row.here = "nothing that is kept: the position goes with the run";
  }
  return way;
}

/// A sink made and not opened.
struct MadeSink {
  std::unique_ptr<Sink> sink;
  std::string place;

  static Result<MadeSink> make(const SinkKind* kind, const ConfigSection& section, const BuildContext& context) {
    MadeSink made;
    if (kind == nullptr) return made;
    MILLRACE_ASSIGN(made.sink, kind->make(section, context));
    if (kind->place) {
      MILLRACE_ASSIGN(made.place, kind->place(section));
    }
    return made;
  }
  [[nodiscard]] PlacedSink placed() const { return {sink.get(), place}; }
};

}  // namespace

int explain(const ExplainArguments& arguments, const Registry& registry) {
  const auto loaded = load_config(arguments.input);
  if (!loaded) return report(loaded.error());
  const ScratchManifest scratch(loaded->scratch_manifest);
  const auto config = read_pipeline(loaded->config, registry);
  if (!config) return report(config.error());
  BuildContext context;
  context.pipeline = config->pipeline.name;
  context.threads = config->pipeline.threads;
  context.receipt = config->receipt;
  auto source = way_of_source(*config, context, loaded->scratch_manifest.empty());
  if (!source) return report(source.error());
  const auto sink = MadeSink::make(config->sink, config->sink_section, context);
  if (!sink) return report(sink.error());
  const auto letters = MadeSink::make(config->dead_letter, config->dead_letter_section, context);
  if (!letters) return report(letters.error());
  Verdict objects{.ok = true, .text = {}};
  if (config->sink->explain) {
    auto told = tell_objects(arguments, *config, context);
    if (!told) return report(told.error());
    objects = *std::move(told);
  } else if (!arguments.records.empty()) {
    return report(Error::fatal(
        ErrorCode::usage, fmt::format("--records: the sink {} names no objects, so no record has a key there; leave "
                                      "--records out",
                                      config->sink->name)));
  }
  const RecordBound record{source->longest_record, source->record_option};
  const DataWay way = data_way({.options = &config->pipeline,
                                .source = *std::move(source),
                                .decode = &config->decode,
                                .transforms = &config->transforms,
                                .sink = sink->placed(),
                                .letters = letters->placed()});
  std::string text = arguments.json ? way_json(way, record, objects.text) : way_text(way, record);
  if (!arguments.json && !objects.text.empty()) text += "\n" + objects.text;
  return print(text) && objects.ok ? kExitCompleted : kExitFailed;
}

}  // namespace millrace::cli
