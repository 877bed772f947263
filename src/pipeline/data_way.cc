// SPDX-License-Identifier: Apache-2.0
#include "pipeline/data_way.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "millrace/base/figures.h"
#include "millrace/base/printable.h"
#include "millrace/config/values.h"
#include "pipeline/memory_bound.h"

namespace millrace {
namespace {

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  return fmt::format("{}", fmt::join(words, between));
}

std::string_view name_of(OnError policy) { return policy == OnError::fail ? "on_error fail" : "on_error skip"; }

std::string json_text(const DecodeOptions& decode) {
  std::string_view holds = "a document a payload";
  if (decode.framing == decode::JsonFraming::lines) holds = "a document a line";
  if (decode.framing == decode::JsonFraming::array) holds = "an array of documents a payload";
  return fmt::format("json, {}{}, {}", holds, decode.reject_duplicate_keys ? ", no key twice" : "",
                     name_of(decode.on_error));
}

std::string decode_text(const DecodeOptions& decode) {
  switch (decode.kind) {
    case DecodeOptions::Kind::none:
      return "nothing: payloads pass as they came";
    case DecodeOptions::Kind::raw:
      return "raw: payloads pass as they came";
    case DecodeOptions::Kind::text:
      return fmt::format("text, {}", name_of(decode.on_error));
    case DecodeOptions::Kind::json:
      return json_text(decode);
    case DecodeOptions::Kind::csv:
      return fmt::format("csv, rows become objects, types {}, {}",
                         decode.types == CsvTypes::infer ? "infer" : "strings", name_of(decode.on_error));
  }
  return "";
}

/// Names alone: a value may be a secret.
std::string transforms_text(const ops::TransformProgram& transforms) {
  std::vector<std::string> names;
  for (const ops::TransformSpec& spec : transforms.list()) names.emplace_back(ops::name_of(spec));
  return joined(names, ", ");
}

std::string encode_text(const EncodeSpec& spec) {
  std::string_view format;
  switch (spec.format) {
    case EncodeFormat::discard:
      return "nothing: records are counted";
    case EncodeFormat::raw:
      return spec.delimiter.empty() ? "raw, nothing between records"
                                    : fmt::format("raw, '{}' behind each record", printable(spec.delimiter));
    case EncodeFormat::rows:
      return "a row of columns each";
    case EncodeFormat::framed:
      return "the record's bytes, with key, headers and time beside them";
    case EncodeFormat::json_lines:
      format = "json_lines";
      break;
    case EncodeFormat::json_array:
      format = "json_array";
      break;
  }
  if (!spec.wrap) return fmt::format("{} of payloads", format);
  const std::string_view with = spec.include_metadata && spec.include_headers ? " with metadata and headers"
                                : spec.include_metadata                       ? " with metadata"
                                : spec.include_headers                        ? " with headers"
                                                                              : "";
  return fmt::format("{} of wrapped payloads{}", format, with);
}

/// Letters go without a wrapper of the sink's: they are one (docs/formats/dead_letter.md).
std::string letter_text(const EncodeSpec& spec) {
  if (spec.format == EncodeFormat::discard || spec.format == EncodeFormat::raw) return encode_text(spec);
  if (spec.format == EncodeFormat::framed) return "a letter each, as JSON";
  return spec.format == EncodeFormat::json_array ? "json_array of letters" : "json_lines of letters";
}

std::string seal_text(const Sink& sink) {
  const SealPolicy policy = sink.seal_policy();
  std::vector<std::string> ends;
  if (policy.max_bytes != 0) ends.push_back(bytes_text(std::uint64_t{policy.max_bytes}));
  if (policy.max_records != 0) ends.push_back(of_these(policy.max_records, "record"));
  if (policy.max_age > Duration::zero()) ends.push_back(to_string(policy.max_age));
  if (policy.max_idle > Duration::zero()) ends.push_back(to_string(policy.max_idle) + " without a record");
  std::vector<std::string> apart;
  if (policy.boundary == SealPolicy::Boundary::hour) apart.emplace_back("hour");
  if (policy.boundary == SealPolicy::Boundary::day) apart.emplace_back("day");
  if (policy.per_object) apart.emplace_back("object");
  if (policy.routed) apart.emplace_back("value");
  std::string text = ends.empty() ? "seals where a partition ends" : fmt::format("seals at {}", joined(ends, " or "));
  if (!apart.empty()) text += fmt::format(", apart by {}", joined(apart, " and "));
  if (policy.compression.codec != Codec::none) text += fmt::format(", {}", to_string(policy.compression.codec));
  return text;
}

std::string write_text(const PlacedSink& placed) {
  const RetryPolicy retry = placed.sink->retry_policy();
  std::string failing = "stall";
  if (retry.on_failure != OnWriteFailure::stall) {
    failing = fmt::format("{} after {}", retry.on_failure == OnWriteFailure::fail ? "fail" : "drop",
                          of_these(static_cast<std::uint64_t>(std::max(retry.max_attempts, 1)), "attempt"));
  }
  const std::string place = placed.place.empty() ? fmt::format("{} sink", placed.sink->type()) : placed.place;
  return fmt::format("{}; a write that fails: {}", place, failing);
}

std::string threads_text(const PipelineOptions& options) {
  return options.threads == 0 ? std::string("; on as many threads as cores (pipeline.threads)")
                              : fmt::format("; on {} at most (pipeline.threads)", of_these(options.threads, "thread"));
}

StageRow write_row(const PlacedSink& placed, std::string_view of) {
  return {.stage = DataStage::write,
          .here = std::string(of) + write_text(placed),
          .thread = "sink I/O",
          .threads = std::max<std::size_t>(placed.sink->traits().concurrency, 1)};
}

}  // namespace

DataWay data_way(WayParts parts) {
  constexpr std::string_view kOfLetters = "dead letters: ";
  const std::uint64_t lanes = parts.source.lanes.value_or(0);
  DataWay way;
  way.rows = std::move(parts.source.rows);
  for (StageRow& row : way.rows) {
    if (row.stage == DataStage::source) row.here += threads_text(*parts.options);
  }
  const auto on_lane = [&](DataStage stage, std::string here) {
    way.rows.push_back({.stage = stage, .here = std::move(here), .thread = "lane", .threads = lanes});
  };
  on_lane(DataStage::decode, decode_text(*parts.decode));
  if (!parts.transforms->empty()) on_lane(DataStage::transforms, transforms_text(*parts.transforms));
  on_lane(DataStage::encode, encode_text(parts.sink.sink->encode_spec()));
  on_lane(DataStage::seal, seal_text(*parts.sink.sink));
  way.rows.push_back(write_row(parts.sink, ""));
  if (parts.letters.sink != nullptr) {
    const Sink& letters = *parts.letters.sink;
    on_lane(DataStage::encode, std::string(kOfLetters) + letter_text(letters.encode_spec()));
    on_lane(DataStage::seal, std::string(kOfLetters) + seal_text(letters));
    way.rows.push_back(write_row(parts.letters, kOfLetters));
  }
  way.rows.push_back({.stage = DataStage::ack,
                      .here = "settled where the last copy of a batch ends, durable or left out",
                      .thread = "sink I/O, lane"});
  way.rows.push_back({.stage = DataStage::checkpoint,
                      .here = fmt::format("positions up to the first batch that is open, committed each {} "
                                          "(checkpoint.interval)",
                                          to_string(parts.options->checkpoint_interval)),
                      .thread = "control",
                      .threads = 1});
  // The source's own last row stands among its first ones; rows of one stage stay in their order. Not stable_sort, for
  // which libstdc++ 12 calls what clang 19 deprecates.
  for (auto row = way.rows.begin(); row != way.rows.end(); ++row) {
    std::rotate(std::ranges::upper_bound(way.rows.begin(), row, row->stage, {}, &StageRow::stage), row, std::next(row));
  }

  std::vector<MemoryPart> memory = std::move(parts.source.memory);
  auto behind = memory_bound(*parts.options, *parts.decode, *parts.sink.sink, parts.letters.sink, parts.source.lanes,
                             parts.source.longest_record, *parts.transforms);
  std::ranges::move(behind, std::back_inserter(memory));
  for (MemoryPart& part : memory) {
    const auto row = part.stage ? std::ranges::find(way.rows, *part.stage, &StageRow::stage) : way.rows.end();
    (row == way.rows.end() ? way.beside : row->holds).push_back(std::move(part));
  }
  return way;
}

}  // namespace millrace
