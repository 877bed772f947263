// SPDX-License-Identifier: Apache-2.0
#include "cli/pipeline_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "admin/listen_address.h"
#include "cli/dead_letter_config.h"
#include "cli/transforms_config.h"
#include "millrace/base/printable.h"
#include "millrace/config/describe.h"
#include "millrace/store/store_options.h"

namespace millrace {

template <>
struct EnumNames<LogLevel> {
  static constexpr std::pair<std::string_view, LogLevel> names[] = {{"debug", LogLevel::debug},
                                                                    {"info", LogLevel::info},
                                                                    {"warn", LogLevel::warn},
                                                                    {"error", LogLevel::error},
                                                                    {"off", LogLevel::off}};
};
template <>
struct EnumNames<LogFormat> {
  static constexpr std::pair<std::string_view, LogFormat> names[] = {{"text", LogFormat::text},
                                                                     {"json", LogFormat::json}};
};
template <>
struct EnumNames<OnError> {
  static constexpr std::pair<std::string_view, OnError> names[] = {{"fail", OnError::fail}, {"skip", OnError::skip}};
};
template <>
struct EnumNames<decode::JsonFraming> {
  static constexpr std::pair<std::string_view, decode::JsonFraming> names[] = {{"single", decode::JsonFraming::single},
                                                                               {"lines", decode::JsonFraming::lines},
                                                                               {"array", decode::JsonFraming::array}};
};
template <>
struct EnumNames<CsvTypes> {
  static constexpr std::pair<std::string_view, CsvTypes> names[] = {{"strings", CsvTypes::strings},
                                                                    {"infer", CsvTypes::infer}};
};

}  // namespace millrace

namespace millrace::cli {
namespace {

/// The section `pipeline`, as it is written: a size is a ByteSize.
struct EngineSection {
  std::string name = PipelineOptions{}.name;
  std::size_t threads = PipelineOptions{}.threads;
  bool pin_threads = PipelineOptions{}.pin_threads;
  ByteSize max_inflight_bytes{PipelineOptions{}.max_inflight_bytes};
  Duration drain_timeout = PipelineOptions{}.drain_timeout;
};

const Schema<EngineSection>& pipeline_schema() {
  static const Schema<EngineSection> schema = [] {
    Schema<EngineSection> s("pipeline", "The pipeline as a whole.");
    s.optional("name", &EngineSection::name, "Stands in metrics, logs and {stream} of output paths.",
               {.example = "daily-orders"});
    s.optional("threads", &EngineSection::threads, "Threads that decode, process and encode.",
               {.max = 1024, .default_text = "as many as cores, at most as lanes"});
    s.optional("pin_threads", &EngineSection::pin_threads, "Bind each of these threads to one core.");
    s.optional(
        "max_inflight_bytes", &EngineSection::max_inflight_bytes,
        "Bytes of sealed output that may wait or be written at a time, over all sinks; beyond it one batch of a sink "
        "that has none.",
        {.min = 1});
    s.optional("drain_timeout", &EngineSection::drain_timeout,
               "How long the end of a run may take to write and commit what is under way.", {.min = 0.001});
    s.check([](const EngineSection& options, const ConfigSection& at, ConfigProblems& problems) {
      if (options.name.find_first_not_of(" \t") == std::string::npos) {
        problems.add(at.child("name").where(), "pipeline.name: cannot be blank");
      }
    });
    return s;
  }();
  return schema;
}

const Schema<PipelineOptions>& checkpoint_schema() {
  static const Schema<PipelineOptions> schema = [] {
    Schema<PipelineOptions> s("checkpoint", "How progress becomes a kept position.");
    s.optional("interval", &PipelineOptions::checkpoint_interval, "How often positions are committed.", {.min = 0.1});
    s.optional("max_pending_batches", &PipelineOptions::max_pending_batches,
               "Batches of one partition that may wait for their writes; a lane at the limit pauses.", {.min = 1});
    s.optional("stalled_fail_after", &PipelineOptions::stalled_fail_after,
               "A position that has not moved for this long, although no write explains it, ends the run; 0s: never.");
    return s;
  }();
  return schema;
}

const Schema<DecodeOptions>& json_schema() {
  static const Schema<DecodeOptions> schema = [] {
    Schema<DecodeOptions> s("json", "Each payload is checked to be JSON and passed on as it came.");
    s.optional("on_error", &DecodeOptions::on_error,
               "A payload that is no JSON ends the run, or is skipped and counted.");
    s.optional("reject_duplicate_keys", &DecodeOptions::reject_duplicate_keys,
               "An object with one key twice is an error, at any depth.");
    s.optional("framing", &DecodeOptions::framing,
               "What a payload holds: one document, one a line, or an array of documents.");
    return s;
  }();
  return schema;
}

const Schema<DecodeOptions>& csv_schema() {
  static const Schema<DecodeOptions> schema = [] {
    Schema<DecodeOptions> s("csv",
                            "Each row becomes a JSON object with the names of the header. What a source with format: "
                            "csv has without decode.");
    s.optional(
        "on_error", &DecodeOptions::on_error,
        "A row that cannot be read, or has another number of fields than the header, ends the run, or is skipped "
        "and counted.");
    s.optional(
        "types", &DecodeOptions::types,
        "strings: every value is a string. infer: outside quotes a JSON number, true and false are themselves, and "
        "nothing is null.");
    return s;
  }();
  return schema;
}

const Schema<DecodeOptions>& text_schema() {
  static const Schema<DecodeOptions> schema = [] {
    Schema<DecodeOptions> s("text", "Each payload is checked to be UTF-8.");
    s.optional("on_error", &DecodeOptions::on_error,
               "A payload that is not UTF-8 ends the run, or is skipped and counted.");
    return s;
  }();
  return schema;
}

const Schema<DecodeOptions>& raw_schema() {
  static const Schema<DecodeOptions> schema("raw", "Payloads pass as they came; so they do without decode.");
  return schema;
}

const Schema<MetricsOptions>& metrics_schema() {
  static const Schema<MetricsOptions> schema = [] {
    Schema<MetricsOptions> s("metrics", "The admin listener: /metrics, /healthz, /readyz, /status.");
    s.optional("listen", &MetricsOptions::listen, "Address and port, a port alone for loopback, or none.",
               {.example = "127.0.0.1:9464"});
    s.optional("namespace", &MetricsOptions::name_space, "What the name of each metric begins with.");
    s.optional("per_partition_detail", &MetricsOptions::per_partition_detail,
               "Series for each partition of a stream: lag, and the offsets at the end, fetched, durable, committed.");
    s.check([](const MetricsOptions& options, const ConfigSection& at, ConfigProblems& problems) {
      if (options.listen != "none") {
        if (const auto address = admin::parse_listen_address(options.listen); !address) {
          problems.add(at.child("listen").where(), fmt::format("metrics.listen: {}", address.error().message()));
        }
      }
      const auto word = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      };
      const std::string& name = options.name_space;
      if (name.empty() || !std::ranges::all_of(name, word) || (name.front() >= '0' && name.front() <= '9')) {
        problems.add(at.child("namespace").where(),
                     "metrics.namespace: letters, digits and '_', the first no digit, make a metric's name");
      }
    });
    return s;
  }();
  return schema;
}

const Schema<LogOptions>& log_schema() {
  static const Schema<LogOptions> schema = [] {
    Schema<LogOptions> s("log", "Log lines, on stderr.");
    s.optional("level", &LogOptions::level, "Lines below it are not written.");
    s.optional("format", &LogOptions::format, "Lines for people, or one JSON object each.");
    return s;
  }();
  return schema;
}

const Schema<ReceiptRequest>& receipt_schema() {
  static const Schema<ReceiptRequest> schema = [] {
    Schema<ReceiptRequest> s(
        "receipt",
        "Asks for a receipt: what was read of every object and what became of its records, written "
        "and added up before the run is called Completed.");
    s.required("url", &ReceiptRequest::url,
               "The object to write: one JSON line for each object and a total; compressed when it ends in .zst.",
               {.example = "s3://my-bucket/_receipts/exports-2026-07.ndjson.zst"});
    s.optional(
        "store", &ReceiptRequest::store,
        "Store options, as under the source's. Empty: those of the source or of its manifest, where the bucket is "
        "the same.");
    return s;
  }();
  return schema;
}

constexpr std::array<std::string_view, 10> kSections{"pipeline", "checkpoint",  "source",  "decode", "transforms",
                                                     "sink",     "dead_letter", "metrics", "log",    "receipt"};
/// A section of the design that this version does not have yet. Ignoring it would move records past it.
constexpr std::string_view kLater = "sinks";

void check_sections(const ConfigSection& root, ConfigProblems& problems) {
  const std::vector<std::string> known(kSections.begin(), kSections.end());
  for (const std::string& key : root.keys()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    if (key == kLater) {
      problems.add(root.child(key).key_where(),
                   "sinks: this version of millrace does not have it yet; write one `sink:`");
      continue;
    }
    const auto near = nearest_name(key, known);
    problems.add(root.child(key).key_where(),
                 fmt::format("{}: unknown key; {}", printable(key),
                             near ? fmt::format("did you mean '{}'?", *near)
                                  : fmt::format("known keys are {}", fmt::join(known, ", "))));
  }
}

/// The one key of a section such as `source`, or nothing after a problem was added.
std::optional<std::string> only_key(const ConfigSection& at, const std::vector<std::string>& known,
                                    ConfigProblems& problems) {
  if (!at.exists()) {
    problems.add(at.where(), fmt::format("{}: is required: one of {}", at.path(), fmt::join(known, ", ")));
    return std::nullopt;
  }
  const std::vector<std::string> keys = at.keys();
  if (at.kind() != ConfigSection::Kind::mapping || keys.size() != 1) {
    problems.add(at.where(), fmt::format("{}: holds exactly one of {}", at.path(), fmt::join(known, ", ")));
    return std::nullopt;
  }
  if (std::ranges::find(known, keys[0]) != known.end()) return keys[0];
  const auto near = nearest_name(keys[0], known);
  problems.add(at.child(keys[0]).key_where(), fmt::format("{}.{}: unknown; {}", at.path(), printable(keys[0]),
                                                          near ? fmt::format("did you mean '{}'?", *near)
                                                               : fmt::format("known are {}", fmt::join(known, ", "))));
  return std::nullopt;
}

template <class Kind>
const Kind* read_connector(const ConfigSection& at, const std::vector<Kind>& kinds, ConfigSection& section,
                           ConfigProblems& problems) {
  std::vector<std::string> known;
  known.reserve(kinds.size());
  for (const Kind& kind : kinds) known.push_back(kind.name);
  const auto name = only_key(at, known, problems);
  if (!name) return nullptr;
  section = at.child(*name);
  const auto found = std::ranges::find_if(kinds, [&](const Kind& kind) { return kind.name == *name; });
  if (auto valid = found->validate(section); !valid) problems.add(valid.error());
  return &*found;
}

/// `payload_format`: what the source says its payloads are; empty when it says nothing, or is wrong itself.
DecodeOptions read_decode(const ConfigSection& at, const std::string& payload_format, ConfigProblems& problems) {
  const bool rows = payload_format == "csv";
  DecodeOptions options;
  if (!at.exists()) {
    if (rows) options.kind = DecodeOptions::Kind::csv;
    return options;
  }
  const auto name = only_key(at, {"json", "text", "raw", "csv"}, problems);
  if (!name) return options;
  const ConfigSection section = at.child(*name);
  if (*name == "json") {
    options = json_schema().parse_into(section, problems);
    options.kind = DecodeOptions::Kind::json;
    if (rows) {
      problems.add(at.child(*name).key_where(),
                   "decode.json: the source gives rows (format: csv), which are no JSON; leave decode out, or write "
                   "decode.csv, to make objects of them");
    }
  } else if (*name == "text") {
    options = text_schema().parse_into(section, problems);
    options.kind = DecodeOptions::Kind::text;
  } else if (*name == "csv") {
    options = csv_schema().parse_into(section, problems);
    options.kind = DecodeOptions::Kind::csv;
    if (!rows && !payload_format.empty()) {
      problems.add(at.child(*name).key_where(),
                   fmt::format("decode.csv: reads the rows of a source with format: csv; its format is '{}'",
                               printable(payload_format)));
    }
  } else {
    options = raw_schema().parse_into(section, problems);
    options.kind = DecodeOptions::Kind::raw;
  }
  return options;
}

template <class Options>
void read_section(const ConfigSection& at, const Schema<Options>& schema, Options& options, ConfigProblems& problems) {
  if (at.exists()) options = schema.parse_into(at, problems, std::move(options));
}

OptionDescription section_of(const ComponentDescription& component) {
  OptionDescription option;
  option.name = component.name;
  option.type = "section";
  option.meaning = component.summary;
  option.nested = component.options;
  return option;
}

template <class Kind>
OptionDescription connectors_of(std::string name, std::string meaning, const std::vector<Kind>& kinds) {
  OptionDescription option;
  option.name = std::move(name);
  option.type = "one section";
  option.meaning = std::move(meaning);
  option.required = true;
  for (const Kind& kind : kinds) {
    option.nested.push_back(section_of(kind.description));
    option.nested.back().name = kind.name;
  }
  return option;
}

/// Every option of a store that is not known to be harmless is a secret: a misspelt one may be.
bool is_secret_store_option(std::string_view spelling) {
  const auto name = StoreOptions::canonical_name(spelling);
  const auto known = std::ranges::find(StoreOptions::known(), name.value_or(""), &StoreOptions::Known::name);
  return known == StoreOptions::known().end() || known->secret;
}

void check_receipt(const ConfigSection& at, const PipelineConfig& config, ConfigProblems& problems) {
  if (!config.source->check_receipt) {
    return problems.add(at.key_where(),
                        fmt::format("receipt: the source '{}' gives none; remove the section", config.source->name));
  }
  if (auto fits = config.source->check_receipt(config.source_section, config.receipt); !fits) {
    problems.add(at.child("url").where(), fits.error().message());
  }
}

}  // namespace

Result<PipelineConfig> PipelineConfig::read(const Config& config, const Registry& registry) {
  ConfigProblems problems;
  PipelineConfig out;
  const ConfigSection root = config.root();
  check_sections(root, problems);
  EngineSection engine;
  read_section(root.child("pipeline"), pipeline_schema(), engine, problems);
  out.pipeline.name = engine.name;
  out.pipeline.threads = engine.threads;
  out.pipeline.pin_threads = engine.pin_threads;
  out.pipeline.max_inflight_bytes = engine.max_inflight_bytes.bytes;
  out.pipeline.drain_timeout = engine.drain_timeout;
  read_section(root.child("checkpoint"), checkpoint_schema(), out.pipeline, problems);
  out.source = read_connector(root.child("source"), registry.sources(), out.source_section, problems);
  const bool says_format = out.source != nullptr && out.source->payload_format;
  out.decode =
      read_decode(root.child("decode"), says_format ? out.source->payload_format(out.source_section) : "", problems);
  if (const ConfigSection at = root.child("transforms"); at.exists()) {
    out.transforms = read_transforms(at, root.child("decode"), out.decode, problems);
  }
  out.sink = read_connector(root.child("sink"), registry.sinks(), out.sink_section, problems);
  if (const ConfigSection at = root.child("dead_letter"); at.exists()) {
    out.dead_letter = read_connector(at, registry.sinks(), out.dead_letter_section, problems);
    if (out.dead_letter != nullptr) check_dead_letter(at, out, problems);
  }
  if (const ConfigSection listen = root.section("metrics.listen"); listen.kind() == ConfigSection::Kind::null) {
    problems.add(listen.key_where(), "metrics.listen: expects an address such as 127.0.0.1:9464, or none");
  } else {
    read_section(root.child("metrics"), metrics_schema(), out.metrics, problems);
  }
  read_section(root.child("log"), log_schema(), out.log, problems);
  read_section(root.child("receipt"), receipt_schema(), out.receipt, problems);
  if (root.child("receipt").exists() && out.receipt.url.empty() && problems.empty()) {
    problems.add(root.child("receipt").child("url").where(),
                 "receipt.url: is empty; name the object, or remove the section");
  }
  // What is wrong with the rest of the file is told first: the receipt is judged beside a source that is valid.
  if (!out.receipt.url.empty() && problems.empty()) check_receipt(root.child("receipt"), out, problems);
  MILLRACE_TRY(problems.result());
  return out;
}

ComponentDescription describe_pipeline_file(const Registry& registry) {
  ComponentDescription file{
      "pipeline", "A pipeline file: one source, one sink, and how to get from one to the other.", {}};
  file.options.push_back(section_of(pipeline_schema().description()));
  file.options.push_back(section_of(checkpoint_schema().description()));
  file.options.push_back(connectors_of("source", "Where records come from.", registry.sources()));
  OptionDescription decode;
  decode.name = "decode";
  decode.type = "one section";
  decode.meaning =
      "How payloads are read; without it they pass as they came, but for the rows of format: csv, which become "
      "objects.";
  decode.nested = {section_of(json_schema().description()), section_of(csv_schema().description()),
                   section_of(text_schema().description()), section_of(raw_schema().description())};
  file.options.push_back(std::move(decode));
  file.options.push_back(describe_transforms());
  file.options.push_back(connectors_of("sink", "Where records go.", registry.sinks()));
  file.options.push_back(connectors_of(
      "dead_letter",
      "Where records that are skipped (on_error: skip) are kept, with where they came from and why they were skipped, "
      "before the position moves past them; and what the sink gives up (on_upload_failure or on_write_failure: drop). "
      "Its place is "
      "neither equal to, nor above, nor below the sink's prefix, and neither equal to nor below the source's.",
      registry.sinks()));
  file.options.back().required = false;
  file.options.push_back(section_of(metrics_schema().description()));
  file.options.push_back(section_of(log_schema().description()));
  file.options.push_back(section_of(receipt_schema().description()));
  return file;
}

bool is_secret_path(const Registry& registry, std::string_view path) {
  if (is_secret_option(describe_pipeline_file(registry), path)) return true;
  const std::size_t store = path.rfind(".store.");
  return store != std::string_view::npos && is_secret_store_option(path.substr(store + 7));
}

bool holds_secret(const Registry& registry, const std::string& path, const std::string& value) {
  Config alone;
  if (!alone.set(path, value, "--set")) return true;
  bool any = is_secret_path(registry, path);
  // Writing it asks about each value below the path, lists and mappings included.
  (void)alone.to_yaml([&](std::string_view below) { return any = any || is_secret_path(registry, below); });
  return any;
}

}  // namespace millrace::cli
